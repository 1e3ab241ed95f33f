import { defineStatement } from "../statement.ts";

/** The schema's version and bucket count; asked once per client. Fails with 42P01 or 3F000 where nothing is installed. */
export const readInstallation = defineStatement<null, { version: number; bucket_count: number }>({
  name: "read_installation",
  text: (t) => `
select (select max(m.version) from ${t.migrations} m) as version,
  (select (s.value)::int from ${t.settings} s where s.name = 'bucket_count') as bucket_count`,
  params: () => [],
  sample: null,
});
