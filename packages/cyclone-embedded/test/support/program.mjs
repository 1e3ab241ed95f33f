/**
 * A program that uses an embedded Postgres, for tests that kill it. Arguments: the package's entry, the options as JSON.
 * Prints a line of JSON per event; on its standard input `stop` stops the server and `exit` ends the program without.
 */
import { createInterface } from "node:readline";

const [entry, options] = process.argv.slice(2);
const { startEmbeddedPostgres } = await import(entry);
const onProgress = (message) => console.log(JSON.stringify({ progress: message }));
console.log(JSON.stringify({ begun: true }));
try {
  const server = await startEmbeddedPostgres({ ...JSON.parse(options), onProgress });
  console.log(JSON.stringify({ ready: server }));
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === "exit") process.exit(0);
    await server.stop();
    console.log(JSON.stringify({ stopped: true }));
    process.exit(0);
  }
} catch (error) {
  console.log(JSON.stringify({ failed: error.message, code: error.code, log: error.log }));
  process.exit(1);
}
