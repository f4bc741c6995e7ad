use portcullis_config::Surroundings;
use portcullis_model::Origin;

use super::*;

const CONFIG: &str = "\
mcp_servers:
  files:
    command: npx
    args: [-y, server-filesystem, /tmp]
  quiet:
    command: true
    enabled: false
  broken:
    command: 7
    tiemout: 3
  secret:
    url: https://example.com/mcp
    headers: {authorization: 'Bearer ${NOT_SET}'}
policys: {}
";

fn shown(json: bool) -> String {
    let surroundings = Surroundings::new(|_| None);
    let config = Config::parse(CONFIG, "config.yaml", Origin::ConfigFile, &surroundings);
    let checked = Checked { path: Path::new("config.yaml"), config: &config };
    if json {
        return checked.to_value().to_json();
    }
    let mut text = Vec::new();
    checked.write_text(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn every_mistake_is_shown_with_its_place_and_the_good_servers_are_counted() {
    insta::assert_snapshot!(shown(false));
}

#[test]
fn the_same_is_there_for_scripts() {
    insta::assert_snapshot!(shown(true));
}
