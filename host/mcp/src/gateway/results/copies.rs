//! Full copies of shortened results, for the operator: as the server sent them, so nothing of them has been judged.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use portcullis_model::json::Value;

/// Bytes of all copies together. Eight results of the largest size, and hundreds of usual ones.
const MOST_BYTES: u64 = 128 * 1024 * 1024;

/// Keeps a copy that only this user may read, removes the oldest beyond `most`, and returns where it is.
pub(super) fn keep(folder: &Path, result: &Value, most: usize) -> io::Result<PathBuf> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let unique = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    // Names sort by age.
    let path = folder.join(format!("{:020}-{unique:016x}.json", since.as_nanos()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path)?;
    if let Err(error) = file.write_all(result.to_json().as_bytes()) {
        let _gone = fs::remove_file(&path);
        return Err(error);
    }
    drop(file);
    prune(folder, most, &path)?;
    Ok(path)
}

/// Removes the oldest copies until there are no more than `most`, of no more than [`MOST_BYTES`]. The latest stays, also where
/// the clock was set back.
fn prune(folder: &Path, most: usize, latest: &Path) -> io::Result<()> {
    let mut copies: Vec<(PathBuf, u64)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "json") && entry.file_type()?.is_file() {
            copies.push((entry.path(), entry.metadata()?.len()));
        }
    }
    copies.sort_by(|left, right| (left.0 == latest, &left.0).cmp(&(right.0 == latest, &right.0)));
    let mut held = 0;
    for (number, (path, bytes)) in copies.iter().rev().enumerate() {
        held += bytes;
        if number > 0 && (number >= most || held > MOST_BYTES) {
            match fs::remove_file(path) {
                // Another gateway of this home was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_whole_private_and_only_the_latest_stay() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), "mine").unwrap();
        let result = portcullis_model::json::parse_str(r#"{"content":[{"text":"a","n":1.0}]}"#).unwrap();
        let paths: Vec<PathBuf> = (0..5).map(|_| keep(folder.path(), &result, 2).unwrap()).collect();
        assert_eq!(fs::read_to_string(&paths[4]).unwrap(), result.to_json());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "two copies, and what is none");
        assert!(paths[4].exists(), "the latest stays, whatever the clock says");
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&paths[4]).unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        assert!(keep(&folder.path().join("missing"), &result, 2).is_err());
    }
}
