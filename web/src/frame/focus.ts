/** Moves the focus to the heading of the page, so that a screen reader says where the person is and Tab goes on from there. */
export function focusHeading(): HTMLElement | null {
  const heading = document.querySelector<HTMLElement>("#main h1");
  heading?.focus({ preventScroll: true });
  return heading;
}
