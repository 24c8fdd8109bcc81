//! `include/zerobind.h` is generated from `src/ffi` by cbindgen and committed; this test tells when it is stale.
//! With `UPDATE_HEADER=1` it writes the file instead (`make header`).

#[path = "header/nullability.rs"]
mod nullability;
#[path = "header/swift.rs"]
mod swift;

use std::path::{Path, PathBuf};

use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};

/// The files of the ABI, in the order in which a reader of the header meets them.
const FILES: &[&str] = &[
    "constants.rs",
    "layout.rs",
    "library.rs",
    "runtime.rs",
    "model.rs",
    "context.rs",
    "tensor.rs",
    "dlpack.rs",
    "infer.rs",
    "preflight.rs",
    "queue.rs",
    "event.rs",
];

/// The struct of another header that functions of ours take.
const DLPACK: &str = "DLManagedTensorVersioned";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn part(name: &str) -> String {
    std::fs::read_to_string(root().join("src/ffi/header").join(name)).expect("the parts of the header are in the tree")
}

fn version_macros() -> String {
    let [major, minor, patch] = ["MAJOR", "MINOR", "PATCH"]
        .map(|part| std::env::var(format!("CARGO_PKG_VERSION_{part}")).expect("cargo sets it"));
    format!(
        "#define ZB_VERSION_MAJOR {major}\n#define ZB_VERSION_MINOR {minor}\n#define ZB_VERSION_PATCH {patch}\n\
         #define ZB_HEADER_VERSION \\\n    \
         (ZB_VERSION_MAJOR * 0x400000u | ZB_VERSION_MINOR * 0x1000u | ZB_VERSION_PATCH)"
    )
}

fn config() -> Config {
    let mut config = Config {
        language: Language::C,
        cpp_compat: true,
        no_includes: true,
        style: Style::Both,
        documentation_style: DocumentationStyle::C99,
        line_length: 120,
        header: Some(part("top.h").replace("@VERSION@", &version_macros())),
        trailer: Some(part("bottom.h")),
        usize_is_size_t: true,
        ..Config::default()
    };
    // declared at the top, defined by dlpack.h alone
    config.export.rename.insert(DLPACK.to_owned(), format!("struct {DLPACK}"));
    config.function.must_use = Some("ZB_MUST_USE".to_owned());
    config.documentation = true;
    config
}

fn generate() -> String {
    let mut builder = Builder::new().with_config(config());
    for file in FILES {
        builder = builder.with_src(root().join("src/ffi").join(file));
    }
    let mut bytes = Vec::new();
    builder.generate().expect("cbindgen reads the sources").write(&mut bytes);
    let text = String::from_utf8(bytes).expect("a header is UTF-8").replace("// # Safety", "// Requires:");
    nullability::annotate(&text).replace("@SWIFT_ENUMS@\n", &swift::enums(&text))
}

#[test]
fn the_committed_header_is_fresh() {
    let path: PathBuf = root().join("include/zerobind.h");
    let fresh = generate();
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, &fresh).expect("the header can be written");
        return;
    }
    let committed = std::fs::read_to_string(&path).expect("include/zerobind.h is committed");
    assert!(committed == fresh, "include/zerobind.h is stale: run `make header` and commit the result");
}
