//! A log file that does not grow without bound.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

/// A file is put aside at this size; with one kept aside, logs take twice this at most.
const LARGEST: u64 = 8 << 20;

/// The size is looked at again after so many writes: other gateways of the home append to the same file.
const WRITES_BETWEEN_LOOKS: u32 = 256;

/// A log file, appended to and put aside as `….1` when it has grown large. Only its owner may read it.
#[derive(Clone, Debug)]
pub(crate) struct LogFile {
    open: Arc<Mutex<Open>>,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
    writes: u32,
    largest: u64,
}

impl LogFile {
    /// Opens the file, creating it where it is missing.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, LARGEST)
    }

    fn open_with(path: &Path, largest: u64) -> io::Result<Self> {
        let mut open = Open { path: path.to_owned(), file: append(path)?, writes: 0, largest };
        open.put_aside_if_large()?;
        Ok(Self { open: Arc::new(Mutex::new(open)) })
    }
}

impl Open {
    fn put_aside_if_large(&mut self) -> io::Result<()> {
        // By path, not by handle: another gateway may have put the file aside already.
        let large = std::fs::symlink_metadata(&self.path).is_ok_and(|metadata| metadata.len() > self.largest);
        if large {
            let mut aside = self.path.clone().into_os_string();
            aside.push(".1");
            std::fs::rename(&self.path, aside)?;
        }
        self.file = append(&self.path)?;
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// One event's hold on the file.
#[derive(Debug)]
pub(crate) struct Held<'a>(MutexGuard<'a, Open>);

impl Write for Held<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let open = &mut *self.0;
        open.writes += 1;
        if open.writes >= WRITES_BETWEEN_LOOKS {
            open.writes = 0;
            open.put_aside_if_large()?;
        }
        open.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.file.flush()
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Held<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        Held(self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_has_grown_large_is_put_aside_and_the_one_before_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portcullis.log");
        let log = LogFile::open_with(&path, 10_000).unwrap();
        for _ in 0..2_000 {
            log.make_writer().write_all(&[b'x'; 99]).unwrap();
        }
        let size = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().len();
        assert!(size("portcullis.log") < 40_000 && (10_000..40_000).contains(&size("portcullis.log.1")));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
