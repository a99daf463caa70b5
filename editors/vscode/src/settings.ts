// Server settings.  The user's settings are sent with `initialize` and after each change, and the server trusts them.
// Workspace settings are sent when the server requests them, so that it can reject sensitive ones.  Pure: does not
// import vscode.

/** A server setting declared in package.json. */
export interface SettingDeclaration {
  /** "section.name" */
  key: string;
  default: unknown;
}

/** Result of `WorkspaceConfiguration.inspect`. */
export interface InspectedSetting {
  globalValue?: unknown;
  workspaceValue?: unknown;
  workspaceFolderValue?: unknown;
}

type Inspect = (key: string) => InspectedSetting | undefined;

/** Values by section and name. */
export type NestedSettings = Record<string, Record<string, unknown>>;

interface Manifest {
  contributes?: { configuration?: { title?: string; properties?: Record<string, { default?: unknown }> }[] };
}

/** Return the settings of the generated group "Server". */
export function serverSettings(manifest: Manifest): SettingDeclaration[] {
  const group = manifest.contributes?.configuration?.find((candidate) => candidate.title === "Server");
  return Object.entries(group?.properties ?? {}).map(([name, schema]) => ({
    key: name.replace(/^promptls\./, ""),
    default: schema.default,
  }));
}

/** Return the user's settings that differ from the default. */
export function userSettings(declarations: readonly SettingDeclaration[], inspect: Inspect): NestedSettings {
  return nestSettings(declarations, (setting) => {
    const value = inspect(setting.key)?.globalValue;
    return equalJson(value, setting.default) ? undefined : value;
  });
}

/** Return the settings of the workspace; those of a folder take precedence. */
export function workspaceSettings(declarations: readonly SettingDeclaration[], inspect: Inspect): NestedSettings {
  return nestSettings(declarations, (setting) => {
    const inspected = inspect(setting.key);
    return inspected?.workspaceFolderValue ?? inspected?.workspaceValue;
  });
}

export function equalJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function nestSettings(
  declarations: readonly SettingDeclaration[],
  valueOf: (setting: SettingDeclaration) => unknown,
): NestedSettings {
  const nested: NestedSettings = {};
  for (const setting of declarations) {
    const value = valueOf(setting);
    if (value === undefined) continue;
    const dot = setting.key.indexOf(".");
    (nested[setting.key.slice(0, dot)] ??= {})[setting.key.slice(dot + 1)] = value;
  }
  return nested;
}
