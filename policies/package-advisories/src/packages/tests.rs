use super::*;

/// Returns the packages of a command line, as `name@version` with an ecosystem before it.
fn packages(line: &str) -> Vec<String> {
    let words = shell_words::split(line).unwrap();
    let mut found = Vec::new();
    command(&words, DEEPEST, &mut found);
    let shown = |package: Package| {
        let version = package.version.map(|version| ["@", &version].concat()).unwrap_or_default();
        [package.ecosystem.name(), ":", &package.name, &version].concat()
    };
    found.into_iter().map(shown).collect()
}

#[test]
fn runners_of_npm_name_their_package() {
    for (line, expected) in [
        ("npx -y @scope/server@1.2.3 --flag x", "npm:@scope/server@1.2.3"),
        ("npx server", "npm:server"),
        ("npx server@latest", "npm:server"),
        ("npx server@^1.2.0", "npm:server"),
        ("npx server@1", "npm:server"),
        ("npx server@1.x.0", "npm:server"),
        ("npx -p server@2.0.0-rc.1 other-name", "npm:server@2.0.0-rc.1"),
        ("npx --package=server@2.0.0 -c 'server'", "npm:server@2.0.0"),
        ("npx alias@npm:real@1.0.0", "npm:real@1.0.0"),
        ("npx --registry https://r.example server", "npm:server"),
        ("npm exec --yes -- server@1.0.0", "npm:server@1.0.0"),
        ("pnpm dlx server", "npm:server"),
        ("yarn dlx server", "npm:server"),
        ("bunx server@1.0.0", "npm:server@1.0.0"),
        ("bun x server", "npm:server"),
        ("C:/node/npx.cmd server", "npm:server"),
    ] {
        assert_eq!(packages(line), [expected], "{line}");
    }
}

#[test]
fn runners_of_python_name_their_package_and_what_is_beside_it() {
    for (line, expected) in [
        ("uvx mcp-server-fetch", vec!["PyPI:mcp-server-fetch"]),
        ("uvx mcp_server.fetch==2025.4.7", vec!["PyPI:mcp-server-fetch@2025.4.7"]),
        ("uvx --from 'Server[cli]==1.0' tool", vec!["PyPI:server@1.0"]),
        ("uvx --python 3.12 server@1.0.1", vec!["PyPI:server@1.0.1"]),
        ("uvx server@latest", vec!["PyPI:server"]),
        ("uvx 'server>=1.0'", vec!["PyPI:server"]),
        ("uvx --with a==1,b server", vec!["PyPI:a@1", "PyPI:b", "PyPI:server"]),
        ("uv tool run server", vec!["PyPI:server"]),
        ("uv run --with mcp server.py", vec!["PyPI:mcp"]),
        ("pipx run --spec server==1.0 tool", vec!["PyPI:server@1.0"]),
        ("pipx run server", vec!["PyPI:server"]),
    ] {
        assert_eq!(packages(line), expected, "{line}");
    }
}

#[test]
fn wrappers_and_scripts_are_seen_through() {
    for line in [
        "env A=b npx server",
        "sudo -u someone npx server",
        "timeout 10 npx server",
        "cmd /c npx server",
        "cmd /c 'npx server'",
        "sh -c 'npx server'",
        "bash -lc 'cd /srv && exec npx -y server; true'",
        "/usr/bin/env sh -c \"A=b npx server\"",
    ] {
        assert_eq!(packages(line), ["npm:server"], "{line}");
    }
}

#[test]
fn what_is_no_package_of_a_registry_is_left_to_others() {
    for line in [
        "npx ./local",
        "npx /srv/local",
        "npx github:a/b",
        "npx https://example.com/x.tgz",
        "npx git+ssh://git@example.com/x.git",
        "uvx --from git+https://example.com/x tool",
        "uvx 'x @ https://example.com/x.whl'",
        "uvx ./local",
        "uv run server.py",
        "node server.js",
        "npm start",
        "npx",
        "",
    ] {
        assert!(packages(line).is_empty(), "{line}: {:?}", packages(line));
    }
}
