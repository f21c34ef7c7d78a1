import { Bookmark, BookmarkPlus, Trash2 } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { Field, Input } from "@/components/Field";
import { Menu, MenuItem, MenuSeparator } from "@/components/Menu";
import { toast } from "@/components/Toast";
import type { JobsSearch } from "./route";
import { commonViews, loadViews, storeViews, viewOf } from "./views";

/** Opens a view, or keeps the current filters and columns as one. Views lie in this browser. */
export function ViewsMenu({ search, onOpen }: { search: JobsSearch; onOpen: (search: JobsSearch) => void }) {
  const [views, setViews] = useState(loadViews);
  const [naming, setNaming] = useState(false);
  const now = JSON.stringify(viewOf(search));
  const own = views.find((v) => JSON.stringify(v.search) === now);
  const change = (next: typeof views, said: string) => {
    setViews(next);
    toast(storeViews(next) ? said : "The browser does not store views; it stays until the page is closed");
  };
  return (
    <>
      <Menu trigger={<Button icon={Bookmark}>Views</Button>}>
        {[...commonViews, ...views].map((v) => (
          <MenuItem key={v.name} checked={JSON.stringify(v.search) === now} onSelect={() => onOpen(v.search)}>
            {v.name}
          </MenuItem>
        ))}
        <MenuSeparator />
        <MenuItem icon={BookmarkPlus} onSelect={() => setNaming(true)}>
          Save this view…
        </MenuItem>
        {own && (
          <MenuItem
            icon={Trash2}
            danger
            onSelect={() =>
              change(
                views.filter((v) => v !== own),
                "View removed",
              )
            }
          >
            Remove the view {own.name}
          </MenuItem>
        )}
      </Menu>
      <SaveDialog
        open={naming}
        onOpenChange={setNaming}
        taken={[...commonViews, ...views].map((v) => v.name)}
        onSave={(name) => change([...views, { name, search: viewOf(search) }], "View saved in this browser")}
      />
    </>
  );
}

function SaveDialog(props: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  taken: readonly string[];
  onSave: (name: string) => void;
}) {
  const [name, setName] = useState("");
  const text = name.trim();
  const taken = props.taken.includes(text);
  const save = () => {
    if (!text || taken) return;
    props.onSave(text);
    props.onOpenChange(false);
    setName("");
  };
  return (
    <Dialog
      open={props.open}
      onOpenChange={props.onOpenChange}
      title="Save this view"
      description="Filters, range and columns are kept in this browser. To share a view, send its address."
      footer={
        <Button look="accent" disabled={!text || taken} onClick={save}>
          Save view
        </Button>
      }
    >
      <form
        onSubmit={(e) => {
          e.preventDefault();
          save();
        }}
      >
        <Field label="Name" error={taken ? "Another view has this name." : null}>
          <Input value={name} maxLength={60} onChange={(e) => setName(e.target.value)} />
        </Field>
      </form>
    </Dialog>
  );
}
