import { connect } from "node:net";

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const ANSWER_WITHIN_MS = 2000;

/** True if a Postgres listens on this port of the loopback address: only a Postgres replies to this packet with S or N. */
export function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    const settle = (isPostgres: boolean) => {
      socket.destroy();
      resolve(isPostgres);
    };
    socket.setTimeout(ANSWER_WITHIN_MS, () => settle(false));
    socket.on("error", () => settle(false));
    socket.on("close", () => settle(false));
    socket.on("connect", () => socket.write(SSL_REQUEST));
    socket.on("data", (reply) => settle(reply[0] === 0x53 || reply[0] === 0x4e));
  });
}
