/** One timer for everything on the page that shows an age. */
type Listener = () => void;

const listeners = new Set<Listener>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Call back once a second while the page is visible; returns what ends it. */
export function everySecond(listener: Listener): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    if (!document.hidden) listeners.forEach((call) => call());
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}
