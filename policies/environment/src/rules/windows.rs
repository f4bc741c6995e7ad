//! # windows-names
//!
//! **What it does.** On Windows, passes the names without which programs there do not start, whatever their case.
//!
//! **Why.** Windows keeps the places of its system, of programs and of temporary files in variables. Elsewhere the same names mean
//! nothing to the system and may hold anything, so they do not pass there.
//!
//! **Example.** `SystemRoot` passes on Windows; `TEMP` and `USERNAME` on Linux do not.

/// The names, in upper case.
const NAMES: [&str; 27] = [
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMMONPROGRAMFILES(X86)",
    "COMMONPROGRAMW6432",
    "COMPUTERNAME",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "PUBLIC",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Returns true for a name that programs on Windows need.
pub(crate) fn matches(name: &str) -> bool {
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}
