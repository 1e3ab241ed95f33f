import { Client } from "pg";

/** Runs `work` on a connection of its own, which is closed at the end in any case. */
export async function asAdmin(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url, application_name: "cyclone-test-setup" });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
