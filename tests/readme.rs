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
    for document in ["README.md", "docs/architecture.md", "docs/engines.md", "docs/lifetimes.md", "docs/data.md"] {
        let folder = Path::new(document).parent().expect("a file has a folder");
        let text = read(document);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(link.split('#').next().unwrap_or(link));
            assert!(link.contains("://") || file.exists(), "{document} links to {link}, which does not exist");
        }
    }
}
