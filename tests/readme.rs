//! What the README shows is what is tested.

use std::path::Path;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_program_in_the_readme_is_the_example() {
    let readme = read("README.md");
    let shown =
        readme.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the README has a C program");
    assert!(shown == read("examples/c/add.c"), "README.md shows another program than examples/c/add.c");
}

#[test]
fn the_program_in_the_readme_of_kotlin_is_the_demo() {
    let readme = read("bindings/kotlin/README.md");
    let shown = readme.split("```kotlin\n").nth(1).and_then(|rest| rest.split("```").next());
    let program = read("bindings/kotlin/demo/Add.kt");
    assert!(shown == Some(&program), "bindings/kotlin/README.md shows another program than demo/Add.kt");
}

#[test]
fn links_lead_somewhere() {
    for document in [
        "README.md",
        "bindings/kotlin/README.md",
        "docs/architecture.md",
        "docs/bindings.md",
        "docs/cpp.md",
        "docs/damaged.md",
        "docs/data.md",
        "docs/engines.md",
        "docs/lifetimes.md",
        "docs/packaging.md",
        "docs/preflight.md",
        "docs/queues.md",
        "docs/shapes.md",
        "docs/targets.md",
        "docs/testing.md",
        "docs/tool.md",
    ] {
        let folder = Path::new(document).parent().expect("a file has a folder");
        // not in code, where a lambda looks like a link
        let text: String = read(document).split("```").step_by(2).collect();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(link.split('#').next().unwrap_or(link));
            assert!(link.contains("://") || file.exists(), "{document} links to {link}, which does not exist");
        }
    }
}

/// A test that a document names: `test_loans: a_new_address_every_call`, or `src/....rs: name`.
struct Named {
    /// The file's text.
    file: String,
    path: String,
    test: Option<String>,
}

/// The tests in a cell. A name without a file is in the file before it.
fn named_in(cell: &str) -> Vec<Named> {
    let (mut path, mut file) = (String::new(), String::new());
    let mut named = Vec::new();
    for quoted in cell.split('`').skip(1).step_by(2) {
        let (place, test) = match quoted.split_once(": ") {
            Some((place, test)) => (place, Some(test)),
            None if quoted.starts_with("test_") || quoted.starts_with("src/") => (quoted, None),
            None => ("", Some(quoted)),
        };
        if !place.is_empty() {
            path = match place {
                program if program.starts_with("test_") => format!("c-tests/{program}.c"),
                file if file.starts_with("faults/") => format!("c-tests/{file}"),
                file => file.to_owned(),
            };
            file = read(&path);
        }
        named.push(Named { file: file.clone(), path: path.clone(), test: test.map(str::to_owned) });
    }
    named
}

fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.trim_matches(['|', ' ']).split(" | ")
}

#[test]
fn tests_that_are_named_exist() {
    for (document, least) in [("docs/engines.md", 30), ("docs/shapes.md", 60)] {
        let text = read(document);
        let mut count = 0;
        let mut in_table = false;
        for row in text.lines() {
            in_table = row.ends_with("| test |") || (in_table && row.starts_with('|'));
            let cell = if in_table { cells(row).last() } else { None };
            for Named { file, path, test } in named_in(cell.unwrap_or_default()) {
                let test = test.unwrap_or_default();
                assert!(
                    test.is_empty() || file.contains(&format!("{test}(")),
                    "{document} names the test {test} of {path}, which does not exist"
                );
                count += 1;
            }
        }
        assert!(count > least, "the tables of tests in {document} were not found");
    }
}

/// Each cell of the table of what the engines can do names a test, and one that runs on the engine of its column.
#[test]
fn what_an_engine_can_do_is_tested_on_it() {
    let engines = [("ON_TFLITE", "src/runtime/tflite/"), ("ON_ONNXRUNTIME", "src/runtime/onnxruntime/")];
    let document = read("docs/engines.md");
    let section = document.split("## What each engine can do through zerobind").nth(1).expect("the section is there");
    let table = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let mut rows = 0;
    for row in table.skip(2) {
        let cells: Vec<_> = cells(row).collect();
        assert!(cells.len() == 3, "{row}");
        for ((marker, folder), cell) in engines.iter().zip(&cells[1..]) {
            let named = named_in(cell);
            assert!(!named.is_empty(), "no test in the cell '{cell}'");
            for Named { file, path, test } in named {
                let test = test.unwrap_or_else(|| panic!("{cell}: a file is no test"));
                let runs = if path.starts_with("c-tests/") {
                    file.contains(&format!("ON_BOTH({test})")) || file.contains(&format!("{marker}({test})"))
                } else {
                    path.starts_with(folder) && file.contains(&format!("fn {test}("))
                };
                assert!(runs, "{test} of {path} does not run on the engine of the cell '{cell}'");
            }
        }
        rows += 1;
    }
    assert!(rows > 20, "the table was not found");
}

/// Programs in part: each is in an example, which is compiled and run.
#[test]
fn fragments_are_from_examples() {
    let examples = ["c/add.c", "c/preflight.c", "c/recurrent.c", "c/queue.c", "cpp/add.cpp", "cpp/later.cpp"]
        .map(|name| read(&format!("examples/{name}")));
    for (document, language) in
        [("docs/shapes.md", "c"), ("docs/queues.md", "c"), ("docs/preflight.md", "c"), ("docs/cpp.md", "cpp")]
    {
        let text = read(document);
        let fragments: Vec<_> = text
            .split(&format!("```{language}\n"))
            .skip(1)
            .map(|rest| rest.split("```").next().unwrap_or(rest))
            .collect();
        assert!(!fragments.is_empty(), "{document} has none");
        for fragment in fragments {
            assert!(
                examples.iter().any(|example| example.contains(fragment)),
                "{document} shows what is in no example:\n{fragment}"
            );
        }
    }
}
