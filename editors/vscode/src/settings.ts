// The server's settings as the editor holds them.  What is the user's own goes along with `initialize`, where the
// server trusts it; what a workspace sets is given when the server asks, which lets it refuse what is sensitive.  Pure.

/** A setting of the server as package.json declares it. */
export interface Declared {
  /** "section.name" */
  key: string;
  default: unknown;
}

/** What `WorkspaceConfiguration.inspect` tells. */
export interface Inspected {
  globalValue?: unknown;
  workspaceValue?: unknown;
  workspaceFolderValue?: unknown;
}

export type Nested = Record<string, Record<string, unknown>>;

interface Manifest {
  contributes?: { configuration?: { title?: string; properties?: Record<string, { default?: unknown }> }[] };
}

/** The settings that are generated from the server's code. */
export function declared(manifest: Manifest): Declared[] {
  const group = manifest.contributes?.configuration?.find((g) => g.title === "Server");
  return Object.entries(group?.properties ?? {}).map(([name, schema]) => ({
    key: name.replace(/^promptls\./, ""),
    default: schema.default,
  }));
}

/** The user's own settings, as far as they differ from the default. */
export function ownSettings(all: readonly Declared[], inspect: (key: string) => Inspected | undefined): Nested {
  return nested(all, (setting) => {
    const value = inspect(setting.key)?.globalValue;
    return same(value, setting.default) ? undefined : value;
  });
}

/** What the workspace sets, the nearest first. */
export function workspaceSettings(all: readonly Declared[], inspect: (key: string) => Inspected | undefined): Nested {
  return nested(all, (setting) => {
    const found = inspect(setting.key);
    return found?.workspaceFolderValue ?? found?.workspaceValue;
  });
}

/** Whether a setting of `before` is gone in `after`: the server keeps what it was told, so it must start anew. */
export function lost(before: Nested, after: Nested): boolean {
  return Object.entries(before).some(([section, values]) =>
    Object.keys(values).some((name) => after[section]?.[name] === undefined),
  );
}

export function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function nested(all: readonly Declared[], value: (setting: Declared) => unknown): Nested {
  const out: Nested = {};
  for (const setting of all) {
    const found = value(setting);
    if (found === undefined) continue;
    const dot = setting.key.indexOf(".");
    (out[setting.key.slice(0, dot)] ??= {})[setting.key.slice(dot + 1)] = found;
  }
  return out;
}
