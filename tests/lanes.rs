//! `docs/testing.md` tells of every lane: what `make test` runs, what is run by hand, and nothing that is not there.

use std::collections::BTreeSet;
use std::path::Path;

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("a file of the project")
}

/// The targets that a line `name: target target` of the Makefile asks for.
fn needed_by(makefile: &str, name: &str) -> Vec<String> {
    let line = makefile.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).expect("a target");
    line.split_whitespace().map(str::to_owned).collect()
}

fn targets(makefile: &str) -> BTreeSet<String> {
    let heads = makefile.lines().filter_map(|line| line.split_once(':')).map(|(head, _)| head);
    let is_name = |name: &&str| name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
    heads.flat_map(str::split_whitespace).filter(is_name).map(str::to_owned).collect()
}

#[test]
fn every_lane_is_told_of() {
    let (makefile, page) = (read("Makefile"), read("docs/testing.md"));
    // the first cell of each row may name several
    let told: BTreeSet<&str> =
        page.lines().filter_map(|line| line.split('|').nth(1)).flat_map(|cell| cell.split('`')).collect();
    for lane in needed_by(&makefile, "test").iter().filter(|lane| *lane != "setup") {
        assert!(told.contains(lane.as_str()), "docs/testing.md has no row for `{lane}`, which `make test` runs");
    }
}

#[test]
fn what_is_told_of_is_there() {
    let (makefile, page) = (read("Makefile"), read("docs/testing.md"));
    let targets = targets(&makefile);
    let mut count = 0;
    for words in page.split("`make ").skip(1) {
        let name: String = words.chars().take_while(|letter| letter.is_ascii_lowercase() || *letter == '-').collect();
        assert!(targets.contains(&name), "docs/testing.md tells of `make {name}`, and the Makefile has no such target");
        count += 1;
    }
    assert!(count > 3, "the page was not read");
}
