//! Secrets in server entries: found, and replaced by references.

mod detect;

use portcullis_model::Secret;
use portcullis_model::json::Value;

/// A secret that was taken out of an entry, and the variable that names it there now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concealed {
    /// The variable: `PORTCULLIS_` and words of capitals, digits and underscores.
    pub variable: String,
    /// Where in the entry it stood, like `env.GITHUB_TOKEN`.
    pub place: String,
    /// What it stands for.
    pub value: Secret,
}

/// Replaces the secrets of a server entry by references to variables: in its environment, headers, arguments and URL.
///
/// A secret is known by the name that it stands under or by its form. A reference that is there already stays.
pub fn conceal(server: &str, entry: &mut Value) -> Vec<Concealed> {
    let mut concealing = Concealing { server, found: Vec::new() };
    let Some(object) = entry.as_object_mut() else {
        return Vec::new();
    };
    for section in ["env", "headers"] {
        if let Some(pairs) = object.get_mut(section).and_then(Value::as_object_mut) {
            for (name, value) in pairs.iter_mut() {
                concealing.pair(section, name, value);
            }
        }
    }
    if let Some(Value::Array(arguments)) = object.get_mut("args") {
        concealing.arguments(arguments);
    }
    for key in ["url", "serverUrl", "httpUrl"] {
        if let Some(Value::String(url)) = object.get_mut(key) {
            concealing.url(url);
        }
    }
    concealing.found
}

/// Replaces the variables of those names in a server entry, whatever they look like.
pub fn conceal_variables<'a>(
    server: &str,
    entry: &mut Value,
    names: impl IntoIterator<Item = &'a str>,
) -> Vec<Concealed> {
    let mut concealing = Concealing { server, found: Vec::new() };
    let environment = entry.as_object_mut().and_then(|entry| entry.get_mut("env")).and_then(Value::as_object_mut);
    if let Some(environment) = environment {
        for name in names {
            if let Some(Value::String(text)) = environment.get_mut(name)
                && !is_reference(text)
            {
                let secret = text.clone();
                *text = concealing.take(name, format!("env.{name}"), &secret);
            }
        }
    }
    concealing.found
}

struct Concealing<'a> {
    server: &'a str,
    found: Vec<Concealed>,
}

impl Concealing<'_> {
    fn pair(&mut self, section: &str, name: &str, value: &mut Value) {
        let Value::String(text) = value else {
            return;
        };
        // `Authorization: Bearer …`: the scheme is no secret, and tells what is one.
        let (scheme, secret) = match text.split_once(' ') {
            Some((scheme, rest)) if section == "headers" && detect::is_scheme(scheme) => (format!("{scheme} "), rest),
            Some(_) | None => (String::new(), text.as_str()),
        };
        if is_reference(secret) || secret.trim().is_empty() {
            return;
        }
        if !scheme.is_empty() || detect::is_secret_name(name) || detect::has_secret_form(secret) {
            let secret = secret.to_owned();
            let reference = self.take(name, format!("{section}.{name}"), &secret);
            *text = format!("{scheme}{reference}");
        }
    }

    fn arguments(&mut self, arguments: &mut [Value]) {
        let mut announced: Option<String> = None;
        for (index, argument) in arguments.iter_mut().enumerate() {
            let Value::String(text) = argument else {
                announced = None;
                continue;
            };
            let before = announced.take();
            let flag = |text: &str| text.starts_with('-').then(|| text.trim_start_matches('-').to_owned());
            if let Some((name, value)) = text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())) {
                let short = flag(&name).unwrap_or_else(|| name.clone());
                if !is_reference(&value)
                    && !value.is_empty()
                    && (detect::is_secret_name(&short) || detect::has_secret_form(&value))
                {
                    let reference = self.take(&short, format!("args[{index}]"), &value);
                    *text = format!("{name}={reference}");
                }
                continue;
            }
            if let Some(name) = flag(text) {
                announced = detect::is_secret_name(&name).then_some(name);
                continue;
            }
            if !is_reference(text) && (before.is_some() || detect::has_secret_form(text)) {
                let secret = text.clone();
                let name = before.unwrap_or_else(|| format!("ARGUMENT_{index}"));
                *text = self.take(&name, format!("args[{index}]"), &secret);
            } else if let Some((name, value)) = text.split_once(": ").filter(|(name, _)| detect::is_secret_name(name)) {
                // A header as an argument: `--header 'Authorization: Bearer …'`.
                let mut header = Value::from(value);
                let name = name.to_owned();
                self.pair("headers", &name, &mut header);
                *text = format!("{name}: {}", header.as_str().unwrap_or_default());
            }
        }
    }

    /// Conceals the password and the secret parameters of a URL.
    fn url(&mut self, text: &mut String) {
        let Ok(url) = url::Url::parse(text) else {
            return;
        };
        if let Some(password) = url.password().filter(|password| !is_reference(password)) {
            let reference = self.take("PASSWORD", "url".to_owned(), password);
            *text = text.replacen(&format!(":{password}@"), &format!(":{reference}@"), 1);
        }
        for parameter in url.query().unwrap_or_default().split('&') {
            let Some((name, value)) = parameter.split_once('=').filter(|(_, value)| !value.is_empty()) else {
                continue;
            };
            if !is_reference(value) && (detect::is_secret_name(name) || detect::has_secret_form(value)) {
                let reference = self.take(name, format!("url?{name}"), value);
                *text = text.replacen(&format!("{name}={value}"), &format!("{name}={reference}"), 1);
            }
        }
    }

    /// Notes a secret and returns what stands for it.
    fn take(&mut self, name: &str, place: String, secret: &str) -> String {
        let variable = self.variable(name, secret);
        let reference = format!("${{{variable}}}");
        if !self.found.iter().any(|known| known.variable == variable && known.place == place) {
            self.found.push(Concealed { variable, place, value: Secret::new(secret) });
        }
        reference
    }

    /// Returns a name for a secret that no other one of the entry has.
    fn variable(&self, name: &str, secret: &str) -> String {
        let base = variable_name(self.server, name);
        let is_free = |candidate: &str| {
            let mut same = self.found.iter().filter(|known| known.variable == candidate);
            same.all(|known| known.value.expose() == secret)
        };
        let numbered = (2..).map(|number| format!("{base}_{number}"));
        std::iter::once(base.clone()).chain(numbered).find(|candidate| is_free(candidate)).unwrap_or(base)
    }
}

/// Returns the variable of a server's secret: it begins with our own name, so that no variable of the environment is meant.
pub(crate) fn variable_name(server: &str, name: &str) -> String {
    let word = |text: &str| {
        let letters = text.chars().map(|one| if one.is_ascii_alphanumeric() { one.to_ascii_uppercase() } else { '_' });
        letters.collect::<String>().trim_matches('_').to_owned()
    };
    let (server, name) = (word(server), word(name));
    let name = name.strip_prefix(&format!("{server}_")).unwrap_or(&name);
    format!("PORTCULLIS_{server}_{name}")
}

/// Returns true for a text that a variable is put into: what is in it is not written here.
fn is_reference(text: &str) -> bool {
    text.contains("${")
}

#[cfg(test)]
mod tests;
