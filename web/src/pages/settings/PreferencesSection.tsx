import type { ReactNode } from "react";
import { Card } from "@/components/Card";
import { Switch } from "@/components/Checkbox";
import { Segments } from "@/components/Tabs";
import { formatTime, type Zone, zoneName } from "@/format";
import { useNow } from "@/hooks/clock";
import { type Density, setPreference, type Theme, usePreferences } from "@/hooks/preferences";

const themes: { value: Theme; label: string }[] = [
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
  { value: "system", label: "System" },
];
const densities: { value: Density; label: string }[] = [
  { value: "compact", label: "Compact" },
  { value: "normal", label: "Normal" },
  { value: "roomy", label: "Roomy" },
];

/** The choices of the viewer. They stay in this browser. */
export function PreferencesSection() {
  const { theme, density, zone, shortcuts } = usePreferences();
  const now = new Date(useNow()).toISOString();
  const zones: { value: Zone; label: string }[] = [
    { value: "local", label: `Local (${zoneName("local")})` },
    { value: "utc", label: "UTC" },
  ];
  return (
    <Card title="Preferences" note="They stay in this browser" className="max-w-3xl">
      <Row title="Theme" about="System follows the setting of your computer.">
        <Segments label="Theme" value={theme} tabs={themes} onChange={(v) => setPreference("theme", v)} />
      </Row>
      <Row title="Density" about="The height of the rows of tables.">
        <Segments label="Density" value={density} tabs={densities} onChange={(v) => setPreference("density", v)} />
      </Row>
      <Row title="Times" about={`Now: ${formatTime(now, zone)}. The exact time is on hover, and copies are ISO 8601.`}>
        <Segments label="Times" value={zone} tabs={zones} onChange={(v) => setPreference("zone", v)} />
      </Row>
      <Row title="Keyboard shortcuts" about="They are silent while you type. The key ? lists them.">
        <Switch label="Keyboard shortcuts" checked={shortcuts} onChange={(on) => setPreference("shortcuts", on)} />
      </Row>
    </Card>
  );
}

function Row({ title, about, children }: { title: string; about: string; children: ReactNode }) {
  return (
    <div className="flex min-h-14 flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-3.5 py-2.5 last:border-b-0">
      <div className="min-w-0 flex-1 basis-56">
        <div className="font-medium">{title}</div>
        <div className="num text-12 text-ink-3">{about}</div>
      </div>
      {children}
    </div>
  );
}
