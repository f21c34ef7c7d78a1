import { type ComponentType, lazy, Suspense } from "react";

/** A component whose script is loaded when it is first shown, such as a dialog. Nothing shows until then. */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  const Loaded = lazy(async () => ({ default: await load() })) as ComponentType<P>;
  return (props) => (
    <Suspense fallback={null}>
      <Loaded {...props} />
    </Suspense>
  );
}
