/** Next.js calls this once when the server starts: the worker is in the same process. */
export async function register() {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { client } = await import("./definitions.js");
  await client().migrate();
  await client().start();
}
