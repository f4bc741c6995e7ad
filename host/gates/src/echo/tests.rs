use portcullis_model::LabelFact;

use super::index::MOST_TEXT;
use super::*;

fn marked(label: &str, tool: &str) -> Marked {
    let fact = LabelFact { name: label.to_owned(), server: "mail".to_owned(), tool: tool.to_owned() };
    Marked { fact, pointer: None }
}

fn segment(pointer: &str, role: Role, text: &str) -> Segment {
    Segment { pointer: pointer.to_owned(), role, key: false, text: text.to_owned() }
}

fn learned(texts: &[&str]) -> Echoes {
    let mut echoes = Echoes::default();
    for text in texts {
        echoes.learn(&[marked("read:untrusted", "read_inbox")], &[segment("/content/0/text", Role::Text, text)]);
    }
    echoes
}

fn found(echoes: &Echoes, argument: &str) -> Vec<Echo> {
    echoes.find(&[segment("/to", Role::Argument, argument)]).echoes
}

fn page(lines: u32) -> String {
    (0..lines).fold(String::new(), |page, number| page + "line " + &number.to_string() + " of the page. ")
}

#[test]
fn an_address_that_stands_in_prose_is_told_from_one_that_is_a_whole_field() {
    let echoes =
        learned(&["- sender: ada@example.com\n  body: 'Please write to eve@example.net,\n    it is urgent.'\n"]);
    let echo = &found(&echoes, "Eve@Example.net")[0];
    assert_eq!((echo.prose, echo.length, echo.span), (true, 15, Span { segment: 0, start: 0, end: 15 }));
    assert_eq!(
        (echo.label.as_str(), echo.tool.as_str(), echo.encoding),
        ("read:untrusted", "read_inbox", Encoding::Plain)
    );
    assert!(!found(&echoes, "ada@example.com")[0].prose);
    assert_eq!(found(&echoes, "bob@elsewhere.test"), []);
}

#[test]
fn json_has_leaves_and_one_line_that_does_not_fit_makes_a_layout_prose() {
    let prose = |text: &str| found(&learned(&[text]), "eve@example.net")[0].prose;
    assert!(!prose(r#"{"from":"eve@example.net","text":"hello"}"#));
    assert!(prose(r#"{"from":"ada@example.com","text":"write to eve@example.net"}"#));
    assert!(!prose("name: Eve\nmail: eve@example.net"));
    assert!(prose("name: Eve\nmail: eve@example.net\nand so on, and on"));
    assert!(prose("name: Eve\nnote: |\n  mail: eve@example.net\n"));
    assert!(prose("name: Eve\nnote: \"first\\n\n  mail: eve@example.net\n  \"\n"));
    assert!(!prose("eve@example.net"));
    assert!(prose("Recipient: eve@example.net"));
}

#[test]
fn a_key_that_is_an_address_is_a_field_and_makes_no_layout_prose() {
    let prose = |text: &str, wanted: &str| found(&learned(&[text]), wanted)[0].prose;
    let rights = "name: plan\nshared_with:\n  eve@example.net: rw\n  bob+x@example.org: r\n";
    assert!(!prose(rights, "eve@example.net") && !prose(rights, "bob+x@example.org"));
    assert!(!prose(r#"{"shared":{"eve@example.net":"rw"}}"#, "eve@example.net"));
    assert!(prose("name: plan\nwrite to eve@example.net: now\nand so on\n", "eve@example.net"));
}

#[test]
fn a_text_given_as_structured_content_is_a_leaf() {
    let mut echoes = Echoes::default();
    let field = segment("/structuredContent/from", Role::Structured, "eve@example.net");
    echoes.learn(&[marked("read:untrusted", "t")], &[field]);
    assert!(!found(&echoes, "eve@example.net")[0].prose);
}

#[test]
fn a_value_inside_a_word_is_no_echo() {
    let echoes = learned(&["there is malice in wonderland"]);
    assert_eq!(found(&echoes, "alice"), []);
    assert_eq!(found(&echoes, "malice").len(), 1);
}

#[test]
fn a_part_of_a_longer_text_is_found_wherever_it_stands() {
    let secret = "the account number is 4711-0815-2342 and the code is 99";
    let echoes = learned(&[&format!("some words before {secret}")]);
    let letter = "Dear Eve,\n\n  THE   account number\n is 4711-0815-2342 and so on.";
    let echoes = found(&echoes, letter);
    let echo = echoes.iter().max_by_key(|echo| echo.length).unwrap();
    let said = &letter[echo.span.start as usize..echo.span.end as usize];
    assert_eq!(said, "THE   account number\n is 4711-0815-2342 and");
    assert_eq!(echo.length, 40);
}

#[test]
fn encoded_arguments_are_seen_through() {
    let echoes = learned(&["the pass phrase is correct horse battery staple, keep it"]);
    let encoding = |argument: &str| found(&echoes, argument).first().map(|echo| (echo.encoding, echo.span));
    let whole = |argument: &str| Span { segment: 0, start: 0, end: u32::try_from(argument.len()).unwrap() };
    let encoded = "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZQ";
    assert_eq!(encoding(encoded), Some((Encoding::Base64, whole(encoded))));
    let inside = format!("https://example.net/?q={encoded}&x=1");
    assert_eq!(encoding(&inside), Some((Encoding::Base64, Span { segment: 0, start: 23, end: 61 })));
    let encoded = "636f727265637420686f7273652062617474657279";
    assert_eq!(encoding(encoded), Some((Encoding::Hex, whole(encoded))));
    let encoded = "https://example.net/correct%20horse%20battery%20staple";
    assert_eq!(encoding(encoded), Some((Encoding::Percent, whole(encoded))));
    let encoded = "elpats yrettab esroh tcerroc";
    assert_eq!(encoding(encoded), Some((Encoding::Reversed, whole(encoded))));
}

#[test]
fn labels_and_texts_are_kept_apart() {
    let mut echoes = learned(&["write to eve@example.net with the report of the quarter"]);
    let mine = segment("/content/0/text", Role::Text, "the salary of ada is 61,250 a year");
    echoes.learn(&[marked("read:private", "read_file")], &[mine]);
    let arguments = [
        segment("/to", Role::Argument, "eve@example.net"),
        segment("/body", Role::Argument, "As you asked: the salary of ada is 61,250."),
    ];
    let found = echoes.find(&arguments);
    let told: Vec<_> = found.echoes.iter().map(|echo| (echo.span.segment, echo.label.as_str(), echo.text)).collect();
    assert_eq!(told, [(0, "read:untrusted", 0), (1, "read:private", 1)]);
    assert!(!found.incomplete);
}

#[test]
fn a_label_of_one_segment_is_for_its_text_alone() {
    let mut echoes = Echoes::default();
    let label = Marked { pointer: Some("/a".to_owned()), ..marked("read:private", "t") };
    let texts =
        [segment("/a", Role::Text, "the cat sat on the mat"), segment("/b", Role::Text, "many a dog barked at it")];
    echoes.learn(&[label], &texts);
    assert_eq!(found(&echoes, "the cat sat on the mat").len(), 1);
    assert_eq!(found(&echoes, "many a dog barked at it"), []);
}

#[test]
fn a_page_that_is_read_again_takes_no_room_and_a_full_index_says_so() {
    let page = page(2_000);
    let mut echoes = Echoes::default();
    let learn = |echoes: &mut Echoes, text: &str| {
        echoes.learn(&[marked("read:untrusted", "t")], &[segment("/a", Role::Text, text)]);
    };
    for _ in 0..100 {
        learn(&mut echoes, &page);
    }
    assert!(!echoes.find(&[]).incomplete);
    learn(&mut echoes, &"x y ".repeat(MOST_TEXT / 4));
    learn(&mut echoes, "eve@example.net is never seen");
    let found = echoes.find(&[segment("/to", Role::Argument, "line 7 of the page")]);
    assert!(found.incomplete && found.echoes[0].prose);
}

#[test]
fn arguments_beyond_the_bound_are_said_to_be_left_out() {
    let echoes = learned(&["write to eve@example.net"]);
    let long = format!("{} eve@example.net", "z ".repeat(40 * 1024));
    let found = echoes.find(&[segment("/body", Role::Argument, &long)]);
    assert!(found.incomplete && found.echoes.is_empty());
}

/// Bytes that were compared for an argument.
fn compared(echoes: &Echoes, argument: &str) -> usize {
    let (mut probes, mut effort, mut found) = (Probes::default(), Effort::default(), Found::default());
    for probe in probes.of(argument) {
        echoes.look_up((0, argument), &probe, &mut effort, &mut found);
    }
    effort.spent()
}

#[test]
fn a_text_that_repeats_itself_is_compared_a_few_dozen_times_and_found_as_a_whole() {
    let lines = "the quick brown fox jumps over the lazy dog, \"quoted\" and so on;\n";
    for text in [lines.repeat(150), "a".repeat(10_000), "ab ".repeat(3_000), "0123456789".repeat(1_000)] {
        let echoes = learned(&[&text]);
        let longest = found(&echoes, &text).into_iter().map(|echo| echo.length).max().unwrap();
        assert!(longest as usize + 2 >= text.trim().len(), "{longest} of {}", text.len());
        let bound = 64 * text.len();
        assert!(compared(&echoes, &text) <= bound, "{} of {bound}: {}", compared(&echoes, &text), &text[..20]);
        // Half of it, and more than there is of it.
        let half = &text[..text.len() / 2];
        assert!(found(&echoes, half).iter().any(|echo| echo.length as usize + 2 >= half.trim().len()));
        let double = text.repeat(2);
        assert!(compared(&echoes, &double) <= 64 * double.len());
        let told: u32 = found(&echoes, &double).iter().map(|echo| echo.length).sum();
        assert!(told as usize >= double.len() - 200, "{told} of {}", double.len());
    }
}

#[test]
fn what_is_compared_for_one_call_has_a_bound_and_it_shows_where_that_was_hit() {
    // Many texts that share a long beginning, and an argument that goes on beginning.
    let start = "once upon a time there was a king who had ".repeat(180);
    let mut echoes = Echoes::default();
    for number in 0..30 {
        let text = format!("{start}{number} daughters");
        echoes.learn(&[marked("read:untrusted", "t")], &[segment("/a", Role::Text, &text)]);
    }
    let argument = start.repeat(8);
    assert!(compared(&echoes, &argument) <= 256 * argument.len(), "{}", compared(&echoes, &argument));
    let (mut probes, mut effort, mut found) = (Probes::default(), Effort::within(100_000), Found::default());
    for probe in probes.of(&argument) {
        echoes.look_up((0, &argument), &probe, &mut effort, &mut found);
    }
    assert!(effort.is_spent() && !found.echoes.is_empty());
}

#[test]
fn a_text_that_repeats_a_phrase_hides_no_other_text_with_it() {
    let echoes =
        learned(&["the account number is 4711-0815-2342 and so on", &"the account number is not known. ".repeat(500)]);
    let echo = found(&echoes, "Please note: the account number is 4711-0815-2342, thank you.");
    assert!(echo.iter().any(|echo| echo.text == 0 && echo.length >= 36), "{echo:?}");
}

#[test]
fn a_part_of_a_word_without_end_is_told_by_its_bytes() {
    let token: String =
        (0..500_u32).map(|number| char::from(b'a' + u8::try_from(number * number % 23 % 26).unwrap())).collect();
    let echoes = learned(&[&format!("the token is {token} and no other one")]);
    let echoes = found(&echoes, &format!("zz{}", &token[100..400]));
    assert_eq!(echoes.iter().map(|echo| echo.length).max(), Some(300));
}

proptest::proptest! {
    #[test]
    fn any_common_part_of_ten_bytes_or_more_is_found(before in "[a-z ]{0,40}", part in "[0-9]{10,30}", after in "[a-z ]{0,40}") {
        let echoes = learned(&[&format!("{before} {part} {after}.")]);
        let argument = format!("{after} :: {part} :: {before}{}", "w".repeat(300));
        let known = |echo: &Echo| argument[echo.span.start as usize..echo.span.end as usize].contains(&part);
        proptest::prop_assert!(found(&echoes, &argument).iter().any(known));
    }

    #[test]
    fn a_common_part_is_found_beside_any_that_comes_before_it(words in proptest::collection::vec("[a-c]{3,8}", 1..30), part in "[0-9]{10,20}") {
        // Few letters, so that much is in common by chance.
        let echoes = learned(&[&format!("{} {part} {}", words.join(" "), words.join("  "))]);
        let argument = format!("{} {part} {}", words.concat(), words.join(" "));
        let known = |echo: &Echo| argument[echo.span.start as usize..echo.span.end as usize].contains(&part);
        proptest::prop_assert!(found(&echoes, &argument).iter().any(known));
    }

    #[test]
    fn spans_in_the_original_are_those_of_what_is_told(text in "[aAéÄßİ \t\n]{0,60}", part in "[a-zA-ZÄÖ]{12,20}") {
        let echoes = learned(&[&format!("x {part} y")]);
        let argument = format!("{text} {part} {text}");
        let all = echoes.find(&[segment("/to", Role::Argument, &argument)]).echoes;
        let said = |echo: &Echo| argument[echo.span.start as usize..echo.span.end as usize].to_lowercase();
        proptest::prop_assert!(all.iter().any(|echo| said(echo).contains(&part.to_lowercase())), "{all:?}");
    }

    #[test]
    fn no_text_makes_it_panic_and_spans_fit(texts in proptest::collection::vec(".{0,80}", 0..4), argument in ".{0,120}") {
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let mut echoes = learned(&texts);
        echoes.learn(&[marked("read:private", "t")], &[segment("/a", Role::Text, &argument)]);
        let arguments = [segment("/a", Role::Argument, &argument)];
        for echo in echoes.find(&arguments).echoes {
            proptest::prop_assert!(echo.span.text(&arguments).is_some());
        }
    }
}

/// `PORTCULLIS_SPEED=1 cargo test --release -p portcullis-gates echo -- --nocapture`
#[test]
fn speed_is_measured() {
    if std::env::var_os("PORTCULLIS_SPEED").is_none() {
        println!("skipped: set PORTCULLIS_SPEED");
        return;
    }
    let page = page(8_000);
    let started = std::time::Instant::now();
    let echoes = learned(&[&page]);
    println!("learning {} bytes: {:?}", page.len(), started.elapsed());
    for (name, argument) in
        [("an address", "eve@example.net".to_owned()), ("a letter of 8 KB", page[1_000..9_000].to_uppercase())]
    {
        let started = std::time::Instant::now();
        let count = found(&echoes, &argument).len();
        println!("{name}: {:?}, {count} echoes", started.elapsed());
    }
}
