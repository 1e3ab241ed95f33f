const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** `1234567` → `1.2 MB`: decimal units, as disks and npm have them. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // 999.95 would be shown as 1000.0
  while (value >= 999.95 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}
