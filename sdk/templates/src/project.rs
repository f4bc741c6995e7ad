//! The files of a project.

use std::borrow::Cow;

use portcullis_model::{GateName, IdError, PolicyName};

use crate::Language;
use crate::embedded::{file, folder};

/// The example that there is in every language, with the same verdicts on the same fixtures.
pub const EXAMPLE: &str = "working-folder";

/// A project cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// The name is none that a policy has.
    #[error("`{name}` is no name of a policy: lowercase words joined by hyphens")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        #[source]
        cause: IdError,
    },
    /// It is to judge nowhere.
    #[error("a policy judges at one gate at least")]
    NoGate,
}

/// A project of one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    name: PolicyName,
    language: Language,
    gates: Vec<GateName>,
    example: bool,
}

impl Project {
    /// Describes the project of a policy that begins as a search for forbidden words.
    pub fn new(name: &str, language: Language, gates: &[GateName]) -> Result<Self, ProjectError> {
        let name = PolicyName::parse(name)
            .map_err(|cause| ProjectError::Name { name: name.chars().take(64).collect(), cause })?;
        let mut gates = gates.to_vec();
        gates.sort_unstable();
        gates.dedup();
        if gates.is_empty() {
            return Err(ProjectError::NoGate);
        }
        Ok(Self { name, language, gates, example: false })
    }

    /// Describes the project of the example.
    pub fn example(language: Language) -> Result<Self, ProjectError> {
        Ok(Self { example: true, ..Self::new(EXAMPLE, language, &[GateName::Call])? })
    }

    /// Returns the name of the policy.
    pub fn name(&self) -> &PolicyName {
        &self.name
    }

    /// Returns every file, by its place in the project's folder.
    pub fn files(&self) -> Vec<(String, Cow<'static, str>)> {
        let mut files = vec![("policy.yaml".to_owned(), self.manifest().into())];
        self.contract(&mut files);
        self.sdk(&mut files);
        if self.example {
            let root = format!("sdk/examples/{EXAMPLE}");
            let (own, fixtures) = (format!("{root}/{}", self.language), format!("{root}/fixtures"));
            files.extend(folder(&own).map(|(path, text)| (path.to_owned(), text.into())));
            files.extend(folder(&fixtures).map(|(path, text)| (format!("fixtures/{path}"), text.into())));
            files.push(("settings.yaml".to_owned(), file(&format!("{root}/settings.yaml")).into()));
        } else {
            files.push((self.language.source().to_owned(), self.source().into()));
            for gate in &self.gates {
                let fixtures = file(&format!("sdk/templates/common/fixtures/{gate}.yaml"));
                files.push((format!("fixtures/{gate}.yaml"), fixtures.into()));
            }
            files.push(("settings.yaml".to_owned(), file("sdk/templates/common/settings.yaml").into()));
        }
        files.push((".gitignore".to_owned(), file("sdk/templates/common/gitignore").into()));
        files
    }

    fn manifest(&self) -> String {
        let tool = self.language.tool().map(|tool| format!("tool: \"{tool}\"\n")).unwrap_or_default();
        format!(
            "# What `portcullis policy build` makes the component of. The gates stand in wit/guest.wit.\nname: {}\nlanguage: {}\n{tool}",
            self.name, self.language
        )
    }

    /// The contract, and the world of this policy. Rust needs none: its SDK knows all gates, and `export!` chooses.
    fn contract(&self, files: &mut Vec<(String, Cow<'static, str>)>) {
        if self.language == Language::Rust {
            let contract = folder("wit/v0.1").map(|(path, text)| (format!("portcullis/wit/v0.1/{path}"), text.into()));
            files.extend(contract);
            return;
        }
        files.extend(folder("wit/v0.1").map(|(path, text)| (format!("wit/deps/portcullis/{path}"), text.into())));
        let exports: Vec<_> = self
            .gates
            .iter()
            .map(|gate| {
                format!(
                    "    export portcullis:policy/{gate}-gate@0.1.0;
"
                )
            })
            .collect();
        let exports = exports.concat();
        let world = format!(
            "// What this policy imports and exports: one line for each gate where it judges.\npackage portcullis:guest;\n\n\
             world {} {{\n    import portcullis:policy/log@0.1.0;\n    export portcullis:policy/lifecycle@0.1.0;\n{exports}}}\n",
            crate::WORLD
        );
        files.push(("wit/guest.wit".to_owned(), world.into()));
    }

    fn sdk(&self, files: &mut Vec<(String, Cow<'static, str>)>) {
        let mut copy = |from: &str, to: &str| {
            let sources = folder(from).filter(|(path, _)| *path != "README.md");
            files.extend(sources.map(|(path, text)| (format!("{to}/{path}"), text.into())));
        };
        match self.language {
            Language::Rust => copy("sdk/rust/src", "portcullis/sdk/rust/src"),
            Language::C => copy("sdk/c", "portcullis"),
            Language::JavaScript => copy("sdk/js", "src"),
            Language::Python => copy("sdk/python", "src"),
        }
        if self.language == Language::Rust {
            let template = |name: &str| self.filled(file(&format!("sdk/templates/rust/{name}")));
            files.push(("Cargo.toml".to_owned(), template("Cargo.toml.in").into()));
            files.push((".cargo/config.toml".to_owned(), template("cargo-config.toml").into()));
            files.push(("portcullis/sdk/rust/Cargo.toml".to_owned(), template("sdk-Cargo.toml.in").into()));
            files.push((
                "tests/fixtures.rs".to_owned(),
                template("tests.rs").replace("PolicyType", self.rust_type()).into(),
            ));
        }
    }

    fn rust_type(&self) -> &'static str {
        if self.example { "WorkingFolder" } else { "ForbiddenWords" }
    }

    /// The source that the author goes on from: a head, and a part for each gate.
    fn source(&self) -> String {
        let (folder, extension) = match self.language {
            Language::Rust => ("rust", "rs"),
            Language::C => ("c", "c"),
            Language::JavaScript => ("js", "js"),
            Language::Python => ("python", "py"),
        };
        let mut source = self.filled(file(&format!("sdk/templates/{folder}/policy.{extension}")));
        for gate in &self.gates {
            source.push_str(file(&format!("sdk/templates/{folder}/gates/{gate}.{extension}")));
        }
        if self.language == Language::Rust {
            let gates: Vec<_> = self.gates.iter().map(|gate| rust_gate(*gate)).collect();
            source.push_str(&["\nportcullis_sdk::export!(ForbiddenWords: ", &gates.join(", "), ");\n"].concat());
        }
        source
    }

    fn filled(&self, text: &str) -> String {
        text.replace("{{name}}", self.name.as_str())
            .replace("{{crate}}", &self.name.as_str().replace('-', "_"))
            .replace("{{version}}", env!("CARGO_PKG_VERSION"))
            .replace("{{rights}}", &self.rights())
    }

    /// The rights that the skeleton uses, in the words of the language.
    fn rights(&self) -> String {
        let edits = self.gates.contains(&GateName::Result);
        let denies = self.gates.iter().any(|gate| !matches!(gate, GateName::Result | GateName::Environment));
        let (deny, edit, both, none) = match self.language {
            Language::Rust => ("Rights::DENY", "Rights::EDIT_SPAN", " | ", "Rights::empty()"),
            Language::C => ("RIGHT(DENY)", "RIGHT(EDIT_SPAN)", " | ", "0"),
            Language::JavaScript => ("deny: true", "editSpan: true", ", ", ""),
            Language::Python => ("lifecycle.Rights.DENY", "lifecycle.Rights.EDIT_SPAN", " | ", "lifecycle.Rights(0)"),
        };
        match (denies, edits) {
            (true, true) => [deny, both, edit].concat(),
            (true, false) => deny.to_owned(),
            (false, true) => edit.to_owned(),
            (false, false) => none.to_owned(),
        }
    }
}

fn rust_gate(gate: GateName) -> &'static str {
    match gate {
        GateName::Config => "ConfigGate",
        GateName::Environment => "EnvironmentGate",
        GateName::Listing => "ListingGate",
        GateName::Call => "CallGate",
        GateName::Result => "ResultGate",
        GateName::Request => "RequestGate",
    }
}

#[cfg(test)]
mod tests;
