// How wide a picture may be: that of its holder, as it is and whenever it changes.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

export function useWidth(first: number, least: number) {
  const holder = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.max(least, entry.contentRect.width)));
    watch.observe(holder.current!);
    return () => watch.disconnect();
  }, []);
  return [holder, width] as const;
}
