import type { Report } from "../lib/report";
export async function runUi(_report: Report, _pictures: boolean): Promise<void> {}
