// The shapes and colours of the gallery (displays/drawing.py), and the tints of the plane.

export const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
export const ON_DARK = ["#4aa8e0", "#f28a3c", "#2fc79a", "#e39cc5", "#f2bd45", "#8accf2"];
const DEEPEST = 2; // decision values beyond +-2 share the deepest tint
const STRENGTH = 0.5;

export const colourOf = (label: number, dark: boolean) =>
  (dark ? ON_DARK : COLOURS)[((label % COLOURS.length) + COLOURS.length) % COLOURS.length];

type RGB = [number, number, number];
const rgb = (hex: string): RGB => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as RGB;
const PAPER: RGB = [255, 255, 255];
const NIGHT: RGB = [22, 25, 31];

const mixed = (from: RGB, to: RGB, share: number): RGB =>
  from.map((part, k) => part + share * (to[k] - part)) as RGB;

/** Paints decision values: the colour of the first class over paper at zero to the second's. */
export function tints(first: number, second: number, dark: boolean) {
  const ground = dark ? NIGHT : PAPER;
  const ends = [rgb(COLOURS[first % 6]), rgb(COLOURS[second % 6])];
  const table = new Uint8ClampedArray(3 * 512);
  for (let k = 0; k < 512; k++) {
    const value = (k / 511) * 2 - 1;
    const colour = mixed(ground, value < 0 ? ends[0] : ends[1], STRENGTH * Math.abs(value) ** 0.8);
    table.set(colour, 3 * k);
  }
  return (value: number, out: Uint8ClampedArray, at: number) => {
    const place = 3 * Math.round((Math.max(-1, Math.min(1, value / DEEPEST)) + 1) * 255.5);
    out[at] = table[place];
    out[at + 1] = table[place + 1];
    out[at + 2] = table[place + 2];
    out[at + 3] = 255;
  };
}

export function regionTint(label: number, dark: boolean): RGB {
  return mixed(dark ? NIGHT : PAPER, rgb(COLOURS[label % 6]), dark ? 0.32 : 0.26);
}

/** From paper to ink, for kernel values between their least and largest. */
export function greys(dark: boolean) {
  const from: RGB = dark ? [22, 25, 31] : [255, 255, 255];
  const middle: RGB = dark ? [36, 92, 130] : [120, 178, 214];
  const to: RGB = dark ? [235, 240, 200] : [8, 40, 84];
  return (share: number): RGB =>
    share < 0.5 ? mixed(from, middle, 2 * share) : mixed(middle, to, 2 * share - 1);
}

/** The outline of a class's marker about the origin, of the area of a circle with radius r. */
export function marker(label: number, r: number): string {
  const s = r * 0.886; // half the side of a square of that area
  const t = r * 1.35;
  switch (label % 5) {
    case 1:
      return `M0 ${-t}L${t * 0.95} ${t * 0.72}L${-t * 0.95} ${t * 0.72}Z`;
    case 2:
      return `M0 ${-s * 1.42}L${s * 1.42} 0L0 ${s * 1.42}L${-s * 1.42} 0Z`;
    case 3:
      return `M0 ${t}L${t * 0.95} ${-t * 0.72}L${-t * 0.95} ${-t * 0.72}Z`;
    case 4: {
      const a = r * 0.42;
      const b = r * 1.18;
      return `M${-a} ${-b}H${a}V${-a}H${b}V${a}H${a}V${b}H${-a}V${a}H${-b}V${-a}H${-a}Z`;
    }
    default:
      return `M${-r} 0A${r} ${r} 0 1 0 ${r} 0A${r} ${r} 0 1 0 ${-r} 0Z`;
  }
}
