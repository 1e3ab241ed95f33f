import { ConnectionError } from "../errors/connection-error.ts";

/**
 * Waits for an answer of the database, but not for ever: a half-open connection never gives one. A limit that fires because the event loop was
 * blocked lets it run once more first: the answer may lie in the socket already.
 * @throws ConnectionError (`CYCLONE_CONNECTION`) after `limitMs`
 */
export async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    const refuse = (): void => reject(new ConnectionError(`The database didn't answer within ${limitMs} ms.`));
    timer = setTimeout(() => setImmediate(() => setImmediate(refuse)), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
