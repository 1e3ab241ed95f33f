import { client, order } from "../../definitions.js";

export async function POST(request) {
  const run = await order.submit(client(), await request.json());
  return Response.json({ result: await run.result() });
}
