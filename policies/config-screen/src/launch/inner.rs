//! What a program runs in turn.

use super::{Place, Resolver, wrappers};
use crate::encoding;
use crate::program;
use crate::shell::{Command, Dialect, Word};

impl Resolver<'_> {
    /// Follows what a program runs in turn, by what is known of it.
    pub(super) fn inner(&mut self, name: &str, arguments: &[Word], place: &Place) {
        if self.programs.shells.contains(name) {
            self.shell(arguments, place);
        } else if self.programs.windows_shells.contains(name) {
            self.windows_shell(arguments, place);
        } else if self.programs.powershells.contains(name) {
            self.powershell(name, arguments, place);
        } else {
            if self.programs.interpreters.contains(name) {
                self.interpreter(name, arguments, place);
            }
            self.launcher(name, arguments, place);
            self.anywhere(name, arguments, place);
        }
    }

    /// A shell runs the argument behind `-c`, alone or among other letters, with the rest as its parameters.
    fn shell(&mut self, arguments: &[Word], place: &Place) {
        let position = arguments.iter().position(|word| {
            let text = word.text.as_str();
            let letters = text.strip_prefix('-').is_some_and(|letters| {
                letters.contains('c') && letters.len() <= 8 && letters.chars().all(|one| one.is_ascii_alphabetic())
            });
            letters || matches!(text, "--command" | "--commands" | "--init-command")
        });
        for word in arguments {
            if let Some((_, script)) = word.text.split_once("command=") {
                self.script(script, Dialect::Posix, place);
            }
        }
        let Some(position) = position else {
            return;
        };
        let mut behind = arguments.iter().skip(position + 1).skip_while(|word| {
            word.text.starts_with('-') && !word.text.contains(' ') && word.text.len() < 12 || word.text == "+x"
        });
        let Some(script) = behind.next() else {
            return;
        };
        let parameters: Vec<String> = behind.map(|word| word.text.clone()).collect();
        let outer = self.variables.clone();
        for (index, parameter) in parameters.iter().take(10).enumerate() {
            self.variables.insert(index.to_string(), parameter.clone());
        }
        if let Some((_, rest)) = parameters.split_first() {
            self.variables.insert("@".to_owned(), rest.join(" "));
            self.variables.insert("*".to_owned(), rest.join(" "));
        }
        self.script(&script.text, Dialect::Posix, place);
        self.variables = outer;
    }

    /// `cmd /c` runs what is left of its line.
    fn windows_shell(&mut self, arguments: &[Word], place: &Place) {
        let switch = |word: &Word| matches!(word.text.to_lowercase().get(..2), Some("/c" | "/k" | "/r"));
        let Some(position) = arguments.iter().position(switch) else {
            return;
        };
        let attached = arguments.get(position).and_then(|word| word.text.get(2..)).unwrap_or_default();
        let rest = arguments.iter().skip(position + 1).map(|word| {
            let quoted = word.text.contains(' ') && arguments.len() > position + 2;
            if quoted { format!("\"{}\"", word.text) } else { word.text.clone() }
        });
        let line = std::iter::once(attached.to_owned()).chain(rest).collect::<Vec<_>>().join(" ");
        let line = line.trim();
        // A line that is quoted as a whole is unquoted once (`cmd /s /c "…"`).
        let whole = line.strip_prefix('"').and_then(|line| line.strip_suffix('"'));
        self.script(whole.filter(|inner| !inner.contains('"')).unwrap_or(line), Dialect::Cmd, place);
    }

    /// PowerShell runs what stands behind `-Command`, or what is encoded behind `-EncodedCommand`; any beginning of either will do.
    fn powershell(&mut self, name: &str, arguments: &[Word], place: &Place) {
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let option = word.text.to_lowercase();
            let option = option.trim_start_matches(['-', '/', '–', '—']);
            let is_option = word.text.starts_with(['-', '/', '–', '—']) && !option.is_empty();
            if is_option && ("encodedcommand".starts_with(option) || option == "ec") && option != "ex" {
                self.found.runs_hidden = true;
                let text = words
                    .next()
                    .and_then(|word| encoding::base64(&word.text))
                    .and_then(|bytes| encoding::readable(&bytes));
                let place = Place { decoded: true, ..place.clone() };
                self.code(name, &text.unwrap_or_default(), &place);
            } else if !is_option || "command".starts_with(option) {
                let first = if is_option { String::new() } else { word.text.clone() };
                let rest = words.by_ref().map(|word| word.text.clone());
                let text = std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" ");
                if is_option || !text.trim().to_lowercase().ends_with(".ps1") {
                    self.code(name, text.trim(), place);
                    self.script(text.trim(), Dialect::Cmd, place);
                }
                return;
            } else if matches!(
                option,
                "executionpolicy" | "ep" | "ex" | "exec" | "windowstyle" | "w" | "version" | "file" | "f"
            ) {
                words.next();
            }
        }
    }

    /// Programs that run another program, or a command line that an option holds.
    fn launcher(&mut self, name: &str, arguments: &[Word], place: &Place) {
        match name {
            "env" => self.split_string(arguments, place),
            "eval" | "trap" => {
                let line: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
                self.script(&line.join(" "), Dialect::Posix, place);
            }
            "find" | "fd" => self.find(arguments, place),
            "su" | "runuser" | "script" | "flock" | "nix" | "nix-shell" => {
                self.option_scripts(arguments, &["-c", "--command", "--run"], place);
            }
            "rsync" => {
                self.option_scripts(arguments, &["-e", "--rsh"], place);
                self.values(arguments, place);
            }
            "watch" | "parallel" | "hyperfine" | "concurrently" | "entr" | "nodemon" | "tmux" | "screen" => {
                self.lines(arguments, place);
            }
            "wmic" => self.process_of(arguments, place),
            "npx" | "pnpx" | "bunx" | "npm" => self.option_scripts(arguments, &["-c", "--call"], place),
            "git" | "ssh" | "scp" | "sftp" | "tar" | "zip" | "make" | "vim" | "vi" | "nvim" | "man" | "crontab" => {
                self.values(arguments, place);
            }
            name if self.programs.containers.contains(name) => self.container(arguments, place),
            _ => {}
        }
        if let Some(rest) = wrappers::unwrap(name, arguments)
            && let Some((first, arguments)) = rest.split_first()
        {
            self.program(first, arguments, &Command::default(), place);
        }
    }

    /// `env -S` splits its argument into a command line.
    fn split_string(&mut self, arguments: &[Word], place: &Place) {
        for (index, word) in arguments.iter().enumerate() {
            let text = word.text.as_str();
            let attached = text.strip_prefix("--split-string=").or_else(|| {
                let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
                letters.split_once('S').map(|(_, attached)| attached)
            });
            let separate = (text == "--split-string").then_some("");
            let Some(attached) = attached.or(separate) else {
                continue;
            };
            let rest = arguments.iter().skip(index + 1).map(|word| word.text.as_str());
            // What is split is not unquoted twice, so a script that stays one argument is found by the next step.
            let line = std::iter::once(attached).chain(rest.clone()).collect::<Vec<_>>().join(" ");
            self.script(line.trim(), Dialect::Posix, place);
            let words: Vec<Word> = shell_words::split(attached)
                .unwrap_or_else(|_| attached.split_whitespace().map(str::to_owned).collect())
                .into_iter()
                .chain(rest.map(str::to_owned))
                .map(Word::plain)
                .collect();
            if let Some((first, arguments)) = words.split_first() {
                self.program(first, arguments, &Command::default(), place);
            }
            return;
        }
    }

    fn find(&mut self, arguments: &[Word], place: &Place) {
        /// Most programs that one search runs: each takes all words up to its end.
        const MOST: usize = 16;
        let runs = |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X");
        let mut running = arguments.iter().enumerate().filter(|(_, word)| runs(word));
        for (index, _) in running.by_ref().take(MOST) {
            let rest: Vec<Word> = arguments
                .iter()
                .skip(index + 1)
                .take_while(|word| !matches!(word.text.as_str(), ";" | "+"))
                .cloned()
                .collect();
            if let Some((first, arguments)) = rest.split_first() {
                self.program(first, arguments, &Command::default(), place);
            }
        }
        self.found.truncated |= running.next().is_some();
    }

    /// Some programs hand each argument that is a command line to a shell.
    fn lines(&mut self, arguments: &[Word], place: &Place) {
        for word in arguments.iter().filter(|word| word.text.trim().contains(char::is_whitespace)) {
            self.script(&word.text, Dialect::Posix, place);
        }
    }

    /// `wmic process call create` runs what follows.
    fn process_of(&mut self, arguments: &[Word], place: &Place) {
        let created = arguments.iter().skip_while(|word| !word.text.eq_ignore_ascii_case("create")).skip(1);
        let line = created.map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        if !line.is_empty() {
            self.script(&line, Dialect::Cmd, place);
        }
    }

    fn option_scripts(&mut self, arguments: &[Word], options: &[&str], place: &Place) {
        for (index, word) in arguments.iter().enumerate() {
            let attached = options.iter().find_map(|option| word.text.strip_prefix(option)?.strip_prefix('='));
            let text = word.text.as_str();
            // Letters may stand together: `script -qc COMMAND`.
            let letters = text.strip_prefix('-').filter(|_| options.contains(&"-c") && text.len() <= 5);
            let cluster = letters
                .is_some_and(|letters| letters.ends_with('c') && letters.chars().all(|one| one.is_ascii_lowercase()));
            let separate = (options.contains(&text) || cluster).then(|| arguments.get(index + 1)).flatten();
            if let Some(script) = attached.or(separate.map(|word| word.text.as_str())) {
                self.script(script, Dialect::Posix, place);
            }
        }
    }

    /// Some programs run values of options as command lines: `core.sshCommand=…`, `ProxyCommand=…`, `--checkpoint-action=exec=…`.
    fn values(&mut self, arguments: &[Word], place: &Place) {
        let mut words = arguments.iter().peekable();
        while let Some(word) = words.next() {
            if word.text == "--eval"
                && let Some(rule) = words.peek()
            {
                // A rule of make: what stands behind the semicolon is its command line.
                let line = rule.text.split_once(';').map_or(rule.text.as_str(), |(_, line)| line);
                self.script(line, Dialect::Posix, place);
            }
            if let Some(line) = word.text.strip_prefix("ext::") {
                self.script(line, Dialect::Posix, place);
            }
            let (key, value) = word.text.split_once(['=', ' ', '!']).unwrap_or(("", ""));
            let key = key.to_lowercase();
            let runs = [
                "command",
                "checkpoint-action",
                "alias.",
                "pager",
                "editor",
                "hook",
                "helper",
                "--eval",
                "compress-program",
                "upload-pack",
                "rsh",
                "+",
                ":",
            ];
            if value.is_empty() || !runs.iter().any(|part| key.contains(part)) {
                continue;
            }
            let value = value.strip_prefix("exec=").unwrap_or(value);
            self.script(value.trim_start_matches('!'), Dialect::Posix, place);
        }
    }

    /// What a container runs instead of its own program: the entry point, and the arguments behind the image.
    fn container(&mut self, arguments: &[Word], place: &Place) {
        let runs = |word: &Word| matches!(word.text.as_str(), "run" | "exec" | "create");
        let Some(position) = arguments.iter().position(runs) else {
            return;
        };
        let mut words = arguments.iter().skip(position + 1);
        let mut entry_point = None;
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if let Some(program) = text.strip_prefix("--entrypoint=") {
                entry_point = Some(Word::plain(program));
            } else if text == "--entrypoint" {
                entry_point = words.next().cloned();
            } else if text.starts_with('-') {
                if takes_value(text) {
                    words.next();
                }
            } else {
                break;
            }
        }
        let rest: Vec<Word> = entry_point.into_iter().chain(words.cloned()).collect();
        let Some((first, arguments)) = rest.split_first() else {
            return;
        };
        // Most images take arguments of their own here, which only look like programs.
        let name = program::name(&first.text);
        let known = self.programs.is_shell(&name)
            || [&self.programs.interpreters, &self.programs.egress, &self.programs.writers, &self.programs.schedulers]
                .iter()
                .any(|list| list.contains(&name));
        if known || wrappers::unwrap(&name, arguments).is_some() {
            self.program(first, arguments, &Command::default(), place);
        }
    }

    /// Finds a shell or interpreter with code among the arguments of a program that is not known to run others.
    fn anywhere(&mut self, name: &str, arguments: &[Word], place: &Place) {
        if wrappers::unwrap(name, arguments).is_some() || self.programs.containers.contains(name) {
            return;
        }
        for word in arguments.iter().filter(|word| word.text.contains(char::is_whitespace)) {
            let line = word.text.trim_start_matches(['!', ':']);
            let first = line.split_whitespace().next().map(program::name).unwrap_or_default();
            let piped = ["| sh", "|sh", "| bash", "|bash"].iter().any(|part| line.contains(part));
            if self.programs.egress.contains(&first) && (piped || line.contains("://")) {
                self.script(line, Dialect::Posix, place);
            }
        }
        for (index, word) in arguments.iter().enumerate() {
            let inner = program::name(&word.text);
            let shell = self.programs.is_shell(&inner)
                && arguments.get(index + 1).is_some_and(|next| next.text.starts_with(['-', '/']));
            let code = self.programs.interpreters.contains(&inner)
                && arguments.get(index + 1).is_some_and(|next| super::code::is_code_option(&inner, &next.text));
            if shell || code {
                let rest = arguments.get(index + 1..).unwrap_or_default();
                self.program(word, rest, &Command::default(), place);
                return;
            }
        }
    }
}

/// Options of container programs that take the next argument.
fn takes_value(option: &str) -> bool {
    let long = [
        "--env",
        "--volume",
        "--mount",
        "--name",
        "--network",
        "--net",
        "--user",
        "--workdir",
        "--platform",
        "--publish",
        "--label",
        "--env-file",
        "--add-host",
        "--cap-add",
        "--cap-drop",
        "--security-opt",
        "--device",
        "--pid",
        "--memory",
        "--cpus",
        "--hostname",
        "--ipc",
        "--pull",
        "--gpus",
        "--dns",
        "--tmpfs",
        "--runtime",
        "--ulimit",
        "--shm-size",
    ];
    let short = ["-e", "-v", "-p", "-u", "-w", "-l", "-m", "-h", "-a"];
    long.contains(&option) || short.contains(&option)
}
