/** One message of Postgres' wire protocol. */
export interface Frame {
  /** The message's letter; `startup` for the forms without one: StartupMessage, SSLRequest, GSSENCRequest, CancelRequest. */
  readonly type: string;
  /** What follows the length. */
  readonly body: Buffer;
  /** The whole message, as it travels. */
  readonly bytes: Buffer;
}

/** The request codes of the start-up form; any other is a protocol version. */
export const startupCodes = { cancel: 80877102, ssl: 80877103, gssEncryption: 80877104 } as const;

/** The code of a frame in start-up form. */
export function startupCode(frame: Frame): number {
  return frame.body.readInt32BE(0);
}

/**
 * Cuts one direction of a connection into whole frames, however TCP delivered them. A frontend begins in start-up form,
 * and stays in it until it has sent a real StartupMessage: an SSLRequest is followed by another one.
 */
export class FrameSplitter {
  #chunks: Buffer[] = [];
  #held = 0;
  #needed = 0;
  #startup: boolean;

  constructor(side: "frontend" | "backend") {
    this.#startup = side === "frontend";
  }

  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    // Waiting for a known length without joining keeps a large frame linear.
    if (this.#held < this.#needed) return [];
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    const frames: Frame[] = [];
    for (;;) {
      const header = this.#startup ? 4 : 5;
      const length = rest.length < header ? undefined : rest.readInt32BE(header - 4) + header - 4;
      this.#needed = length ?? header;
      if (length === undefined || rest.length < length) break;
      const frame = this.#frame(rest.subarray(0, length), header);
      frames.push(frame);
      rest = rest.subarray(length);
      if (frame.type === "startup" && !Object.values(startupCodes).some((code) => code === startupCode(frame))) {
        this.#startup = false;
      }
    }
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#held = rest.length;
    return frames;
  }

  #frame(bytes: Buffer, header: number): Frame {
    const type = this.#startup ? "startup" : String.fromCharCode(bytes[0] ?? 0);
    return { type, body: bytes.subarray(header), bytes };
  }
}

/** The zero-terminated strings at the start of a body, as many as asked for. */
export function readStrings(body: Buffer, count: number): string[] {
  const strings: string[] = [];
  let from = 0;
  while (strings.length < count && from <= body.length) {
    const zero = body.indexOf(0, from);
    const end = zero === -1 ? body.length : zero;
    strings.push(body.toString("utf8", from, end));
    from = end + 1;
  }
  return strings;
}
