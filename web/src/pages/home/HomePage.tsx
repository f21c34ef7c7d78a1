import { PageBody } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";

export function HomePage() {
  return (
    <>
      <PageHead title="Home" live />
      <PageBody>Home</PageBody>
    </>
  );
}
