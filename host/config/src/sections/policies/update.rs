//! `policies.update`: where new policies and packs come from while a gateway runs.

use std::path::PathBuf;
use std::time::Duration;

use crate::diagnostic::DiagnosticKind;
use crate::fields::{Fields, wrong_type};
use crate::sink::Mistake;
use crate::surroundings::Surroundings;

/// How often the registry is asked where the config does not say.
const USUALLY: Duration = Duration::from_mins(15);

/// More often is no update but a load on somebody's registry.
const MOST_OFTEN: Duration = Duration::from_secs(1);

/// What becomes of what is new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UpdateMode {
    /// It judges in the place of what did so before.
    #[default]
    Apply,
    /// It judges beside, recorded and not applied, until it is promoted.
    Shadow,
}

/// Where new policies and packs come from while a gateway runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateSection {
    /// The place in a registry: `oci://…`.
    pub from: String,
    /// How often it is looked at.
    pub every: Duration,
    /// What becomes of what is new.
    pub mode: UpdateMode,
    /// In shadow: after so many passages without a difference it is promoted by itself; nothing means by operators only.
    pub after: Option<u64>,
    /// Name to sign in to the registry with.
    pub user: Option<String>,
    /// File with the password for the registry.
    pub password_file: Option<PathBuf>,
}

/// Reads `update`. One with a mistake is left out: nothing is fetched from a place that nobody meant.
pub(super) fn read(parent: &mut Fields<'_, '_>, surroundings: &Surroundings) -> Option<UpdateSection> {
    let node = parent.get("update")?;
    if node.members().is_none() {
        parent.report("update", node.place, wrong_type("a map with `from`", node));
        return None;
    }
    let path = parent.path.key("update");
    let mut fields = Fields::new(node, path, parent.sink);
    let from = fields.text("from").filter(|from| from.starts_with("oci://"));
    if from.is_none() {
        let place = fields.place_of("from");
        let message = "an update needs `from`, as `oci://registry.example/acme/policies:stable`";
        fields.report("from", place, Mistake::error(DiagnosticKind::BadValue, message));
    }
    let every = match fields.text("every") {
        None => Some(USUALLY),
        Some(text) => {
            let every = duration(&text).filter(|every| *every >= MOST_OFTEN);
            if every.is_none() {
                let place = fields.place_of("every");
                let mistake = Mistake::error(DiagnosticKind::BadValue, format!("`{text}` is no time of 1 s or more"));
                fields.report("every", place, mistake.hint("write a number and a unit: `90s`, `15m`, `6h`, `1d`"));
            }
            every
        }
    };
    let mode = fields.choice("mode", &[("apply", UpdateMode::Apply), ("shadow", UpdateMode::Shadow)]);
    // A misspelt mode is not taken for the one that applies.
    let is_mode_meant = mode.is_some() || fields.raw("mode").is_none();
    let after = fields.count("after", 1);
    // A rule that cannot be read is not taken for none.
    let is_after_meant = after.is_some() || fields.raw("after").is_none();
    let user = fields.text("user");
    let password_file = fields.text("password_file").map(|path| PathBuf::from(surroundings.expand(&path)));
    if user.is_some() != password_file.is_some() {
        let place = fields.place_of("user");
        let message = "`user` and `password_file` belong together";
        fields.report("user", place, Mistake::error(DiagnosticKind::BadValue, message));
    }
    fields.finish();
    let mode = Some(mode.unwrap_or_default()).filter(|_| is_mode_meant)?;
    let is_access_whole = user.is_some() == password_file.is_some();
    let section = UpdateSection { from: from?, every: every?, mode, after, user, password_file };
    Some(section).filter(|_| is_access_whole && is_after_meant)
}

/// Parses a whole number with a unit; seconds where there is none.
fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let seconds = match unit.trim() {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    // A year is as good as never.
    let number: u64 = number.parse().ok()?;
    number.checked_mul(seconds).filter(|seconds| *seconds <= 366 * 86_400).map(Duration::from_secs)
}
