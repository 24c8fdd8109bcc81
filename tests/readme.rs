//! What the README shows is what is tested.

use std::path::Path;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("the file is in the tree")
}

#[test]
fn the_program_in_the_readme_is_the_example() {
    let readme = read("README.md");
    let shown =
        readme.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the README has a C program");
    assert!(shown == read("examples/c/add.c"), "README.md shows another program than examples/c/add.c");
}

#[test]
fn links_lead_somewhere() {
    for document in
        ["README.md", "docs/architecture.md", "docs/engines.md", "docs/lifetimes.md", "docs/data.md", "docs/testing.md"]
    {
        let folder = Path::new(document).parent().expect("a file has a folder");
        let text = read(document);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(link.split('#').next().unwrap_or(link));
            assert!(link.contains("://") || file.exists(), "{document} links to {link}, which does not exist");
        }
    }
}

/// The documents name a test for each claim: `test_loans: a_new_address_every_call`, or `src/....rs: name`.
#[test]
fn tests_that_are_named_exist() {
    let document = read("docs/engines.md");
    let mut named = 0;
    let mut in_table = false;
    for row in document.lines() {
        in_table = row.ends_with("| test |") || (in_table && row.starts_with('|'));
        if !in_table {
            continue;
        }
        let Some(cell) = row.trim_end_matches(['|', ' ']).rsplit('|').next() else { continue };
        // a name without a file is in the file before it
        let mut file = String::new();
        for quoted in cell.split('`').skip(1).step_by(2) {
            let (path, test) = match quoted.split_once(": ") {
                Some((path, test)) => (path, Some(test)),
                None if quoted.starts_with("test_") || quoted.starts_with("src/") => (quoted, None),
                None => ("", Some(quoted)),
            };
            if path.starts_with("test_") {
                file = read(&format!("c-tests/{path}.c"));
            } else if !path.is_empty() {
                file = read(path);
            }
            if let Some(test) = test {
                assert!(
                    file.contains(&format!("{test}(")),
                    "docs/engines.md names the test {quoted}, which does not exist"
                );
            }
            named += 1;
        }
    }
    assert!(named > 30, "the table of tests was not found");
}
