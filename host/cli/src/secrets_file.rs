//! `secrets.yaml` in the home: variables that server entries name and that no environment has to hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use portcullis_config::{Concealed, ConfigText};
use portcullis_model::Secret;
use portcullis_model::json::Value;

use crate::backup::Change;
use crate::failure::OrExit as _;
use crate::files::FileText;
use crate::{Exit, Failure};

/// What a new file begins with.
const HEAD: &str =
    "# Variables of server entries, which name them as ${NAME}. The environment of the gateway wins over them.\n";

/// Returns the file of a home.
pub(crate) fn path(home: &Path) -> PathBuf {
    home.join("secrets.yaml")
}

/// Reads the variables of a home; none where there is no file.
pub(crate) fn read(home: &Path) -> Result<BTreeMap<String, Secret>, Failure> {
    let path = path(home);
    let doing = || format!("reading {}", path.display());
    let file = FileText::read(&path).or_exit(Exit::State, doing())?;
    let Some(bytes) = file.bytes else {
        return Ok(BTreeMap::new());
    };
    check_private(&path)?;
    let text = String::from_utf8(bytes).or_exit(Exit::State, doing())?;
    let text = ConfigText::parse(text).or_exit(Exit::State, doing())?;
    let Value::Object(variables) = text.to_value() else {
        return Err(Failure::new(Exit::State, format!("{} is no map of names and texts", path.display())));
    };
    let variables = variables.iter().map(|(name, value)| match value {
        Value::String(text) => Ok((name.to_owned(), Secret::new(text.as_str()))),
        Value::Number(number) => Ok((name.to_owned(), Secret::new(number.as_str()))),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            let message = format!("`{name}` in {} is no text", path.display());
            Err(Failure::new(Exit::State, message).hint("put it in quotes"))
        }
    });
    variables.collect()
}

/// Adds secrets to the file of a home. The ones that are there stay, unless they have the same name.
pub(crate) fn add(home: &Path, secrets: &[Concealed]) -> Result<(), Failure> {
    if secrets.is_empty() {
        return Ok(());
    }
    let change = change(home, secrets)?;
    change.before.replace_private(&change.after).or_exit(Exit::State, "writing the secrets")
}

/// Returns what the file of a home becomes with more secrets.
pub(crate) fn change(home: &Path, secrets: &[Concealed]) -> Result<Change, Failure> {
    let path = path(home);
    let doing = || format!("writing {}", path.display());
    let before = FileText::read(&path).or_exit(Exit::State, doing())?;
    let text = before.bytes.clone().map_or_else(|| Ok(HEAD.to_owned()), String::from_utf8);
    let mut text = ConfigText::parse(text.or_exit(Exit::State, doing())?).or_exit(Exit::State, doing())?;
    for secret in secrets {
        text.set(&[&secret.variable], &secret.value.expose().into()).or_exit(Exit::State, doing())?;
    }
    Ok(Change { before, after: text.as_str().as_bytes().to_vec(), private: true })
}

#[cfg(unix)]
fn check_private(path: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt as _;

    let metadata = std::fs::metadata(path).or_exit(Exit::State, format!("reading {}", path.display()))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(Failure::new(Exit::State, format!("others may read {}", path.display()))
            .hint(format!("chmod 600 {}", path.display())));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_path: &Path) -> Result<(), Failure> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn concealed(variable: &str, value: &str) -> Concealed {
        Concealed { variable: variable.to_owned(), place: "env.X".to_owned(), value: Secret::new(value) }
    }

    #[test]
    fn what_was_put_in_comes_back_and_nobody_else_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).unwrap().is_empty());
        add(folder.path(), &[concealed("A", "one: \"#\n"), concealed("B", "007")]).unwrap();
        add(folder.path(), &[concealed("A", "two")]).unwrap();
        let variables = read(folder.path()).unwrap();
        assert_eq!((variables["A"].expose(), variables["B"].expose()), ("two", "007"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(path(folder.path())).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            std::fs::set_permissions(path(folder.path()), std::fs::Permissions::from_mode(0o644)).unwrap();
            assert!(read(folder.path()).unwrap_err().to_string().contains("hint: chmod 600"));
        }
    }
}
