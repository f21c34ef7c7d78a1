import { Link } from "@tanstack/react-router";
import { PageHead } from "@/frame/PageHead";

export function NotFoundPage() {
  return (
    <div>
      <PageHead title="Not found" />
      <div className="px-4 text-14 text-ink-2 md:px-6">
        <p>No page has this address. It may have been deleted, or it belongs to a tenant that you have no role in.</p>
        <p className="mt-2">
          <Link to="/" className="font-medium text-accent hover:underline">
            Go to Home
          </Link>
        </p>
      </div>
    </div>
  );
}

/** The same for an address outside of the pages, where no frame is. */
export function NothingPage() {
  return (
    <main>
      <NotFoundPage />
    </main>
  );
}
