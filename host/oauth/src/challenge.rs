//! What a server says with a refusal (RFC 9110 §11.6.1, RFC 6750 §3, RFC 9728 §5.1).

/// Longest text of a challenge that is read: with its metadata address, its scopes and a description it has a few hundred
/// bytes.
const LONGEST: usize = 8 * 1024;

/// What the `Bearer` challenge of a refusal says. Foreign text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Where the metadata of the resource is.
    pub resource_metadata: Option<String>,
    /// The scopes that are needed.
    pub scopes: Vec<String>,
    /// The code of the error, such as `invalid_token` or `insufficient_scope`.
    pub error: Option<String>,
}

impl Challenge {
    /// Reads the value of a `WWW-Authenticate` header, which may hold several challenges. What cannot be read is left out.
    pub fn parse(header: &str) -> Self {
        let mut challenge = Self::default();
        let mut scheme = String::new();
        let mut rest = header.get(..LONGEST).unwrap_or(header);
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let length = rest.find(|one: char| !is_token(one)).unwrap_or(rest.len());
            let (name, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            if name.is_empty() {
                // What is no token is skipped, one character at a time.
                let mut characters = rest.chars();
                if characters.next().is_none() {
                    return challenge;
                }
                rest = characters.as_str();
                continue;
            }
            let Some(value) = after.trim_start_matches([' ', '\t']).strip_prefix('=') else {
                scheme = name.to_ascii_lowercase();
                rest = after;
                continue;
            };
            let (value, after) = value_of(value.trim_start_matches([' ', '\t']));
            if scheme == "bearer" {
                challenge.take(name, value);
            }
            rest = after;
        }
    }

    /// Returns true where the token is good and reaches not far enough.
    pub fn wants_more(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    fn take(&mut self, name: &str, value: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => self.resource_metadata = Some(value),
            "scope" => self.scopes = scopes(&value),
            "error" => self.error = Some(value),
            _ => {}
        }
    }
}

/// Reads a list of scopes (RFC 6749 §3.3). What cannot be a scope is left out, and what is there twice.
pub(crate) fn scopes(text: &str) -> Vec<String> {
    /// Far more than any server has, and few enough for an address.
    const MOST: usize = 64;
    let mut scopes: Vec<String> = Vec::new();
    for scope in text.split_ascii_whitespace().filter(|scope| is_scope(scope)) {
        if scopes.len() < MOST && !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

fn is_scope(scope: &str) -> bool {
    const LONGEST: usize = 256;
    scope.len() <= LONGEST && scope.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

fn is_token(one: char) -> bool {
    one.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(one)
}

/// Reads a value, quoted or not, and returns what stands behind it.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let length = text.find([',', ' ', '\t']).unwrap_or(text.len());
        let (value, rest) = text.split_at_checked(length).unwrap_or((text, ""));
        return (value.to_owned(), rest);
    };
    let mut value = String::new();
    let mut characters = quoted.chars();
    while let Some(one) = characters.next() {
        match one {
            '"' => return (value, characters.as_str()),
            '\\' => value.extend(characters.next()),
            _ => value.push(one),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bearer_challenge_is_found_among_others() {
        let header = r#"Basic realm="a, Bearer scope=x", Bearer realm="r",resource_metadata="https://s.example/m" ,
            scope="read write  read", error=insufficient_scope, Digest error="other""#;
        let challenge = Challenge::parse(header);
        assert_eq!(challenge.resource_metadata.as_deref(), Some("https://s.example/m"));
        assert_eq!(challenge.scopes, ["read", "write"]);
        assert!(challenge.wants_more());
    }

    #[test]
    fn quotes_are_taken_off_and_escapes_read() {
        let challenge = Challenge::parse(r#"bearer error="a\"b\\c""#);
        assert_eq!(challenge.error.as_deref(), Some("a\"b\\c"));
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for text in
            ["", "=", "\"", "Bearer", "Bearer scope", "Bearer scope=", "Bearer scope=\"a", ",,;;==", "é=é", "Bearer =x"]
        {
            let challenge = Challenge::parse(text);
            assert!(challenge.resource_metadata.is_none(), "{text}");
        }
        let long = format!("Bearer {}", "scope=\"a\",".repeat(4_000));
        assert_eq!(Challenge::parse(&long).scopes, ["a"]);
    }

    #[test]
    fn scopes_that_could_not_stand_in_an_address_or_in_a_list_are_left_out() {
        assert_eq!(scopes("a \"b\" c\\d é e:f"), ["a", "e:f"]);
        let many: Vec<String> = (0..500).map(|number| format!("s{number}")).collect();
        assert_eq!(scopes(&many.join(" ")).len(), 64);
    }
}
