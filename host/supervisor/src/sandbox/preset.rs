//! What every server needs to run at all.

use std::path::{Path, PathBuf};

/// Programs, libraries and data of the system, which any user may read.
const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store", "/run/current-system"];

/// What runtimes look up of the machine and of themselves. Of other processes the list and the command lines can be seen
/// there; their memory and environment cannot, as the kernel asks for more than a readable file.
const MACHINE: [&str; 5] =
    ["/proc", "/sys/devices/system/cpu", "/sys/fs/cgroup", "/sys/kernel/mm", "/run/systemd/resolve"];

/// Devices without memory.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Returns what a program may read and run, as far as it is there.
pub(super) fn read(program: &Path) -> Vec<PathBuf> {
    let fixed = SYSTEM.iter().chain(&MACHINE).map(PathBuf::from);
    fixed.chain(settings()).chain(runtime_of(program)).filter(|path| path.exists()).collect()
}

/// Returns what it may write, as far as it is there.
pub(super) fn write() -> Vec<PathBuf> {
    DEVICES.iter().map(PathBuf::from).filter(|path| path.exists()).collect()
}

/// Returns the entries of `/etc` that any user may read. A gateway that runs as root, as many do in containers, must not
/// open `/etc/shadow` to its servers.
#[cfg(unix)]
fn settings() -> Vec<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;

    let entries = std::fs::read_dir("/etc").into_iter().flatten().filter_map(Result::ok);
    let is_open = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|metadata| {
            let wanted = if metadata.is_dir() { 0o005 } else { 0o004 };
            metadata.permissions().mode() & wanted == wanted
        })
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_open).collect();
    paths.sort();
    paths
}

/// Returns what a program outside of the system's folders needs of its own installation: itself and, where it lies in a
/// `bin`, that and the `lib` beside it, as interpreters and version managers have it. Both the file and what it links to
/// count. Nothing else beside it: `~/.local/bin` stands next to much that is private. A program among the `shims` of a
/// version manager (pyenv, asdf, mise and the like) is a script that starts what is installed beside them.
fn runtime_of(program: &Path) -> Vec<PathBuf> {
    let real = program.canonicalize().ok();
    let mut paths = Vec::new();
    for file in [Some(program.to_owned()), real].into_iter().flatten() {
        if let Some(bin) = file.parent().filter(|folder| folder.ends_with("bin"))
            && let Some(prefix) = bin.parent()
        {
            paths.push(bin.to_owned());
            paths.extend(["lib", "lib64", "libexec"].map(|name| prefix.join(name)));
            // A virtual environment of Python says there where its interpreter is.
            paths.push(prefix.join("pyvenv.cfg"));
        }
        if let Some(shims) = file.parent().filter(|folder| folder.ends_with("shims")) {
            paths.extend(shims.parent().map(Path::to_owned));
        }
        paths.push(file);
    }
    paths
}
