//! The families of wording rules: what each is about, why it is bad, and what it leads to.
//!
//! The patterns are in `packs/rules.yaml`. Wording never hides an item by itself, since an honest author may word things
//! the same way; it asks where no honest reason is known, else it flags.

use portcullis_sdk::Severity;

use super::Declared;

pub(super) const RULES: &[Declared] = &[
    // A description that speaks of the model's earlier instructions, gives it a new task or identity, or claims to come
    // from the user. Asks.
    ("instruction-override", Severity::Critical, "Text that replaces what the model was told before."),
    // Markup of chat prompts (`<system>`, `[INST]`, `<|im_start|>`), by which a text poses as another speaker. Asks.
    ("role-tags", Severity::High, "Tags and lines that pose as another speaker of the prompt."),
    // "Do not tell the user": whatever follows is not in the user's interest. Asks.
    ("concealment", Severity::Critical, "Text that keeps something from the user."),
    // "Before using X, call Y with …". Demands about the own tool flag; demands about other tools, with fixed arguments
    // or sensitive files, ask.
    ("prerequisite", Severity::Critical, "Text that demands other calls before or after a call."),
    // "When using X, set `to` to …": arguments of another tool are governed from here. Asks.
    ("argument-hijack", Severity::Critical, "Text that changes the arguments of calls."),
    // Text that redefines, replaces or re-routes another tool. Asks; a mere order about another server's tool flags.
    ("shadowing", Severity::High, "Text that changes what another tool does or when it is used."),
    // The conversation, credentials or private files on their way to an address. Asks.
    ("exfiltration", Severity::Critical, "Text that sends out the conversation, credentials or private files."),
    // Download tools and commands that must run. A bare `curl` with an address flags.
    ("remote-command", Severity::High, "Text that has a command or download run."),
    // `~/.ssh/id_rsa` and its like. A mention flags (tools for SSH have one); a demand to read or pass it asks.
    ("sensitive-path", Severity::Critical, "Files that hold keys, passwords or the agent's own settings."),
    // `exec(`, `import subprocess`, `base64.b64decode`: code in a description is odd, and honest in tools that run code.
    ("code", Severity::Low, "Program text that decodes, evaluates or starts something."),
    // Praise that is meant to win the choice of tools. Plain advertising flags.
    ("preference", Severity::Medium, "Praise that is meant to win the model's choice."),
];
