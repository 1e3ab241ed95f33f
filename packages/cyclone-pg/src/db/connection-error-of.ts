import type { PoolConfig } from "pg";
import pg from "pg";
import { ConnectionError } from "../errors/connection-error.ts";
import { errorCode, isConnectionFailure } from "./database-errors.ts";

/** What ails a connection: by the driver's error, what is said of it and what to do. */
interface Ailment {
  readonly fits: (code: string, error: Error) => boolean;
  /** `at`: "Postgres at host:port". */
  readonly says: (at: string) => string;
  readonly advice: string;
}

const UNREACHABLE = /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ENOENT|57P03)$/;
const CERTIFICATE = /^(ERR_TLS_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)/;

/** The first that fits counts. */
const AILMENTS: readonly Ailment[] = [
  {
    fits: (code) => code === "3D000",
    says: (at) => `${at} has no such database`,
    advice: "Create it, or correct its name in `connection`.",
  },
  {
    fits: (code, error) => code === "28P01" || error.message.startsWith("SASL"),
    says: (at) => `${at} refused the login`,
    advice: "Check the user and the password of `connection`.",
  },
  {
    fits: (code) => code.startsWith("28"),
    says: (at) => `${at} refused the login`,
    advice: "Check the user of `connection`, and the server's pg_hba.conf.",
  },
  {
    // Whatever the code: the server looks at the database before it lets anybody in.
    fits: (_code, error) => (error as { routine?: unknown }).routine === "CheckMyDatabase",
    says: (at) => `${at} doesn't let this role into the database`,
    advice: "Grant it CONNECT, or correct the database's name in `connection`.",
  },
  {
    fits: (code, { message }) => CERTIFICATE.test(code) || message.startsWith("The server does not support SSL"),
    says: (at) => `${at} can't be talked to by TLS`,
    advice: "Correct what `connection` says of `ssl`.",
  },
  {
    fits: (code) => code === "53300",
    says: (at) => `${at} takes no further connection`,
    advice: "Lower `maxConnections` of the clients, raise the server's max_connections, or put a pooler between.",
  },
  {
    fits: (code) => code === "25006",
    says: (at) => `${at} is read-only`,
    advice: "Give `connection` the address of the primary server.",
  },
  {
    fits: (_code, error) => error.message.startsWith("timeout exceeded"),
    says: (at) => `No connection to ${at} was to be had in time`,
    advice: "Raise `maxConnections`, or `max` of your Pool, or hold connections for a shorter time.",
  },
  {
    fits: (code) => UNREACHABLE.test(code),
    says: (at) => `${at} can't be reached`,
    advice: "Check that the server runs, and its address in `connection`.",
  },
  {
    fits: (_code, error) => isConnectionFailure(error),
    says: (at) => `The connection to ${at} was lost, or gave no answer`,
    advice: "The call can be repeated; a submit that has an `idempotencyKey` starts one run all the same.",
  },
];

/**
 * What a user is told when there is no usable connection: a ConnectionError with the driver's error as its `cause`; any other error as it is.
 * For the way out of a call only: what is to be tried again is decided by the driver's error.
 */
export function connectionErrorOf(error: unknown, config: PoolConfig | undefined): unknown {
  if (!(error instanceof Error) || error instanceof ConnectionError) return error;
  const ailment = AILMENTS.find(({ fits }) => fits(errorCode(error) ?? "", error));
  if (ailment === undefined) return error;
  const at = `Postgres at ${addressOf(config) ?? "the address of `connection`"}`;
  return new ConnectionError(`${ailment.says(at)}: ${messageOf(error)}. ${ailment.advice}`, { cause: error });
}

/** Host and port, as the driver takes them from options, URL and environment; never more, for a URL holds the password. */
function addressOf({ connectionString, host, port }: PoolConfig = {}): string | undefined {
  try {
    const given = Object.entries({ connectionString, host, port }).filter(([, value]) => value !== undefined);
    const client = new pg.Client(Object.fromEntries(given));
    return client.host.includes(":") ? `[${client.host}]:${client.port}` : `${client.host}:${client.port}`;
  } catch {
    return undefined; // a certificate's file that the URL names is missing, say
  }
}

/** A name with several addresses fails with all their errors, and no message of its own. */
function messageOf(error: Error): string {
  const { errors } = error as { errors?: unknown };
  const parts = Array.isArray(errors) ? errors.map((part: unknown) => (part instanceof Error ? part.message : "")) : [];
  return (error.message || parts.join("; ")).replace(/\.$/, "");
}
