import type { CompletionTx } from "cyclone-pg";
import type { PackageFacts } from "../scan/inspect-package.ts";

/** Writes a package's row inside the transaction that also completes the node: the row and the completion commit together. */
export async function writePackage(tx: CompletionTx, runId: string, facts: PackageFacts): Promise<void> {
  await tx.query(
    `insert into audit_packages
       (run_id, path, name, version, licence, licence_source, licence_files, copyleft, files, bytes, problem)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      runId,
      facts.path,
      facts.name,
      facts.version,
      facts.licence,
      facts.licenceSource,
      facts.licenceFiles,
      facts.copyleft,
      facts.files,
      facts.bytes,
      facts.problem,
    ],
  );
}
