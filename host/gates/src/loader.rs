//! Variables that make a program load code.

/// Prefixes of variables of the dynamic loaders of Linux and macOS, and of families like them.
const PREFIXES: [&str; 5] = [
    "LD_",
    "DYLD_",
    "_RLD",
    // Shell functions handed down by bash: the value is code (CVE-2014-6271 and its follow-ups).
    "BASH_FUNC_",
    // Any setting of git by variables; several of them name programs to run.
    "GIT_CONFIG",
];

/// Variables by which an interpreter, a shell or a tool runs code, or takes options that do, before the program that it
/// was started for. None is needed by a server that did not ask for it in its own entry:
///
/// - shells: start-up files and what is run at each prompt or expanded while tracing;
/// - Node.js, Deno, Bun, Electron: options and preloaded modules;
/// - Python, Ruby, Perl, Lua, PHP, R: search paths, start-up files and options;
/// - Java, .NET: agents, start-up hooks, profilers;
/// - git, ssh, pagers and editors: programs that these call;
/// - glibc: converters and locale files, which it loads as code or trusts;
/// - OpenSSL, GTK, GIO, Qt: modules that are loaded into any program that links them.
const NAMES: &[&str] = &[
    "BASH_ENV",
    "BASHOPTS",
    "ENV",
    "PROMPT_COMMAND",
    "PS4",
    "SHELLOPTS",
    "ZDOTDIR",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "ELECTRON_RUN_AS_NODE",
    "BUN_OPTIONS",
    "DENO_V8_FLAGS",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONBREAKPOINT",
    "PYTHONWARNINGS",
    "PYTHONPLATLIBDIR",
    "PYTHONEXECUTABLE",
    "RUBYLIB",
    "RUBYOPT",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_GEMFILE",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "LUA_INIT",
    "LUA_PATH",
    "LUA_CPATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "R_PROFILE",
    "R_PROFILE_USER",
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "COR_ENABLE_PROFILING",
    "COR_PROFILER",
    "CORECLR_PROFILER",
    "CORECLR_ENABLE_PROFILING",
    "DOTNET_STARTUP_HOOKS",
    "GIT_ASKPASS",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "SSH_ASKPASS",
    "GIT_EXTERNAL_DIFF",
    "GIT_EXEC_PATH",
    "GIT_PAGER",
    "GIT_EDITOR",
    "LESSOPEN",
    "LESSCLOSE",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "LOCPATH",
    "GETCONF_DIR",
    "NIX_LD",
    "NIX_LD_LIBRARY_PATH",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "GTK_MODULES",
    "GTK_PATH",
    "GIO_EXTRA_MODULES",
    "GIO_MODULE_DIR",
    "QT_PLUGIN_PATH",
];

/// Returns true where a variable makes the started program load or run code of whoever set it. Such variables of the
/// gateway's own environment are withheld always; an entry that sets one itself is judged by the config gate.
///
/// Compared without case, since Windows does, and no honest program tells two of them apart by case.
pub(crate) fn is_loader_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loader_variables_are_known_whatever_their_case_and_harmless_ones_are_not() {
        for name in ["LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "node_options", "BASH_ENV", "PYTHONPATH", "BASH_FUNC_ls%%"]
        {
            assert!(is_loader_variable(name), "{name}");
        }
        for name in ["PATH", "HOME", "LANG", "LDAP_SERVER", "PYTHONUNBUFFERED", "NODE_ENV", "ENVIRONMENT"] {
            assert!(!is_loader_variable(name), "{name}");
        }
    }
}
