/** Gate and pipe, forming a P. */
export function Logo() {
  return (
    <span className="inline-flex size-[22px] shrink-0 items-center justify-center rounded-control bg-accent text-on-accent">
      <svg aria-hidden viewBox="0 0 24 24" className="size-[18px]">
        <path d="M8 19V5M11.5 7H14a3.8 3.8 0 0 1 0 7.6h-2.5" fill="none" stroke="currentColor" strokeWidth="2.6" strokeLinecap="round" />
      </svg>
    </span>
  );
}
