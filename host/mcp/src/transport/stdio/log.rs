//! The log of a server's standard error: a file that is turned over before it grows large.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt};
use portcullis_model::{Digest, ServerName};

use super::StderrSink;

/// A file is turned over at this size: some ten thousand lines, which is what one looks through for a cause.
const LARGEST: u64 = 1024 * 1024;
/// So many older files are kept: with ten servers the logs stay within 30 MB.
const OLDER: u32 = 2;
/// A file name's readable part is cut at this length; file systems allow 255 bytes for the whole.
const LONGEST_NAME: usize = 64;

/// A log cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("the log {name} cannot be opened")]
pub struct LogError {
    /// The file's name in the folder of the logs.
    pub name: String,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// The log of a server's standard error: `NAME.stderr.log`, mode 0600, with two older files beside it.
pub struct RotatedLog {
    folder: Dir,
    name: String,
    state: Mutex<State>,
}

struct State {
    /// Nothing where it could not be opened again; the next line tries anew.
    file: Option<File>,
    size: u64,
}

impl RotatedLog {
    /// Opens the log of a server in a folder, and marks the start.
    pub fn open(folder: Dir, server: &ServerName) -> Result<Self, LogError> {
        let name = file_name(server);
        match open(&folder, &name) {
            Ok((file, size)) => {
                let log = Self { folder, name, state: Mutex::new(State { file: Some(file), size }) };
                log.write("--- started ---");
                Ok(log)
            }
            Err(source) => Err(LogError { name, source }),
        }
    }

    /// Returns the file's name in the folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn write(&self, line: &str) {
        let mut text = timestamp(SystemTime::now());
        text.push(' ');
        // Escapes of terminals would act on whoever looks at the file.
        for character in line.chars() {
            if character.is_control() && character != '\t' {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        text.push('\n');
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.size + text.len() as u64 > LARGEST {
            state.file = None;
        }
        if state.file.is_none() {
            self.turn_over(&mut state);
        }
        if let Some(file) = state.file.as_mut() {
            // A full disk must not stop a server; the line is lost.
            if file.write_all(text.as_bytes()).is_ok() {
                state.size += text.len() as u64;
            }
        }
    }

    fn turn_over(&self, state: &mut State) {
        let older = |number: u32| if number == 0 { self.name.clone() } else { format!("{}.{number}", self.name) };
        for number in (0..OLDER).rev() {
            // It fails where there is no such file yet.
            let _ = self.folder.rename(older(number), &self.folder, older(number + 1));
        }
        if let Ok((file, size)) = open(&self.folder, &self.name) {
            (state.file, state.size) = (Some(file), size);
        }
    }
}

impl StderrSink for RotatedLog {
    fn line(&self, line: &str) {
        self.write(line);
    }

    fn dropped(&self, count: u64) {
        self.write(&format!("--- {count} lines were dropped: too many at once ---"));
    }
}

impl fmt::Debug for RotatedLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RotatedLog").field("name", &self.name).finish_non_exhaustive()
    }
}

fn open(folder: &Dir, name: &str) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    // The handle of the folder keeps links from leading out of it.
    let file = folder.open_with(name, options.append(true).create(true).mode(0o600))?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

/// Makes a file name of a server's name. Where characters had to go, a digest keeps different names apart.
fn file_name(server: &ServerName) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let name = server.as_str();
    if name.len() <= LONGEST_NAME && name.chars().all(plain) {
        return format!("{name}.stderr.log");
    }
    let readable: String =
        name.chars().take(LONGEST_NAME).map(|character| if plain(character) { character } else { '_' }).collect();
    let digest = Digest::of(name.as_bytes()).to_string();
    let short: String = digest.chars().rev().take(8).collect();
    format!("{readable}-{short}.stderr.log")
}

/// Writes a moment as RFC 3339 in UTC, to the second.
fn timestamp(moment: SystemTime) -> String {
    let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest % 3600 / 60, rest % 60)
}

/// Turns days since 1970 into a date of the Gregorian calendar, by years of 366 days counted from March.
fn date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cap_std::ambient_authority;

    use super::*;

    fn log(name: &str) -> (tempfile::TempDir, RotatedLog) {
        let folder = tempfile::tempdir().unwrap();
        let handle = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let log = RotatedLog::open(handle, &ServerName::parse(name).unwrap()).unwrap();
        (folder, log)
    }

    #[test]
    fn lines_are_dated_and_stripped_of_what_acts_on_terminals() {
        let (folder, log) = log("files");
        log.line("hello \u{1b}[31mred\u{7}\tend");
        log.dropped(3);
        let text = std::fs::read_to_string(folder.path().join("files.stderr.log")).unwrap();
        let lines: Vec<_> = text.lines().map(|line| line.split_once("Z ").unwrap().1).collect();
        assert_eq!(
            lines,
            ["--- started ---", "hello \\u{1b}[31mred\\u{7}\tend", "--- 3 lines were dropped: too many at once ---"]
        );
    }

    #[test]
    fn a_log_is_turned_over_and_only_two_older_ones_are_kept() {
        use std::os::unix::fs::PermissionsExt;

        let (folder, log) = log("files");
        for _ in 0..1500 {
            log.line(&"x".repeat(4096));
        }
        let mut names: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap())
            .inspect(|entry| {
                let metadata = entry.metadata().unwrap();
                assert!(metadata.len() <= LARGEST);
                assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
            })
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["files.stderr.log", "files.stderr.log.1", "files.stderr.log.2"]);
    }

    #[test]
    fn a_log_stays_in_its_folder_whatever_the_server_is_called() {
        let name = file_name(&ServerName::parse("../../etc/passwd").unwrap());
        assert!(name.starts_with("______etc_passwd-") && name.ends_with(".stderr.log"), "{name}");
        assert_ne!(name, file_name(&ServerName::parse("..-..-etc-passwd").unwrap()));
        assert_ne!(file_name(&ServerName::parse("文件").unwrap()), file_name(&ServerName::parse("文档").unwrap()));
    }

    #[test]
    fn a_log_that_links_elsewhere_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/tmp/not-a-log", folder.path().join("files.stderr.log")).unwrap();
        let handle = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        assert!(RotatedLog::open(handle, &ServerName::parse("files").unwrap()).is_err());
    }

    #[test]
    fn a_moment_is_written_as_a_date() {
        let at = |seconds| timestamp(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_796_051_475), "2026-11-30T15:11:15Z");
    }
}
