// How a reply travels: a JSON header, and arrays behind it as they lie in Python's memory.

export type Numbers = Float32Array | Float64Array | Int32Array | Uint8Array;
export type Request = Record<string, unknown> & { ask: string };
export type Ask = (request: Request) => Promise<Reply>;

const LENGTH_BYTES = 4;

/** Words and numbers in `header`, and arrays by their names. */
export class Reply {
  constructor(
    readonly header: any,
    readonly arrays: Record<string, Numbers>,
    readonly shapes: Record<string, number[]>,
  ) {}
}

function view(type: string, buffer: ArrayBuffer, at: number, count: number): Numbers {
  switch (type) {
    case "float32":
      return new Float32Array(buffer, at, count);
    case "float64":
      return new Float64Array(buffer, at, count);
    case "int32":
      return new Int32Array(buffer, at, count);
    case "uint8":
      return new Uint8Array(buffer, at, count);
    default:
      throw new Error(`A reply holds numbers of the unknown type ${type}.`);
  }
}

export function unpacked(buffer: ArrayBuffer): Reply {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, LENGTH_BYTES, length)));
  const arrays: Record<string, Numbers> = {};
  const shapes: Record<string, number[]> = {};
  for (const [name, place] of Object.entries<any>(header.arrays)) {
    const count = place.shape.reduce((a: number, b: number) => a * b, 1);
    arrays[name] = view(place.type, buffer, LENGTH_BYTES + length + place.at, count);
    shapes[name] = place.shape;
  }
  return new Reply(header, arrays, shapes);
}

/** The local server, which answers nothing that does not carry this header. */
export const askServer: Ask = async (request) => {
  const response = await fetch("ask", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Maxmargin": "play" },
    body: JSON.stringify(request),
  });
  if (!response.ok) {
    const text = await response.text();
    throw new Error(wordsOf(text));
  }
  return unpacked(await response.arrayBuffer());
};

function wordsOf(text: string): string {
  try {
    return JSON.parse(text).error;
  } catch {
    return text;
  }
}

/** Replies that were saved when a figure was made, by what was asked, and of a step by its number. */
export function askRecorded(replies: Record<string, string>): Ask {
  return async (request) => {
    const found = replies[request.ask === "at" ? `at ${request.step}` : request.ask];
    if (found === undefined) {
      throw new Error("This figure is recorded: run `maxmargin play` to change what it fits.");
    }
    return unpacked(await inflated(found));
  };
}

async function inflated(base64: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
