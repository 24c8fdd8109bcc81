//! `include/zerobind.h` is generated from `src/ffi` by cbindgen and committed; this test tells when it is stale.
//! With `UPDATE_HEADER=1` it writes the file instead (`make header`).

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
    "queue.rs",
    "event.rs",
];

/// The struct of another header that functions of ours take.
const DLPACK: &str = "DLManagedTensorVersioned";

/// Parameters that may be NULL, in every function or in one. Every other pointer parameter may not.
const NULLABLE: &[&str] = &[
    "options",
    "user_data",
    "buffer",
    "needed",
    "loans",
    "dims",
    "release",
    "callback",
    "zb_tensor_wrap.data",
    "zb_tensor_wrap_const.data",
    "zb_model_destroy.model",
    "zb_context_destroy.context",
    "zb_tensor_destroy.tensor",
    "zb_queue_destroy.queue",
    "zb_event_destroy.event",
    "tensors",
    "source",
    "destination",
];

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
         ((uint32_t)ZB_VERSION_MAJOR << 22 | (uint32_t)ZB_VERSION_MINOR << 12 | (uint32_t)ZB_VERSION_PATCH)"
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
    let text = String::from_utf8(bytes).expect("a header is UTF-8");
    tidy(&text)
}

/// What cbindgen cannot be told: nullability of parameters, and headings that are Rust's.
fn tidy(text: &str) -> String {
    let mut out = String::new();
    let mut function = None;
    for line in text.lines() {
        let mut line = line.replace("// # Safety", "// Requires:");
        function = function_declared_by(&line).or(function);
        if let Some(name) = &function {
            let (name, ends) = (name.clone(), line.ends_with(';'));
            line = annotate(&name, &line);
            if ends {
                function = None;
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The name of the function whose prototype begins on this line.
fn function_declared_by(line: &str) -> Option<String> {
    if line.starts_with([' ', '/', '#', '}', '*']) || line.starts_with("typedef") || line.starts_with("static") {
        return None;
    }
    let before = &line[..line.find('(')?];
    let name = before.rsplit([' ', '*']).next()?;
    name.starts_with("zb_").then(|| name.to_owned())
}

/// Marks the pointer parameters on a line of a prototype that may not be NULL.
fn annotate(function: &str, line: &str) -> String {
    let open = line.find('(').map_or(0, |at| at + 1);
    let (before, parameters) = line.split_at(open);
    let marked: Vec<_> = parameters.split(',').map(|parameter| annotate_parameter(function, parameter)).collect();
    format!("{before}{}", marked.join(","))
}

fn annotate_parameter(function: &str, parameter: &str) -> String {
    let end = parameter.find([')', ';']).unwrap_or(parameter.len());
    let (declaration, rest) = parameter.split_at(end);
    let Some(star) = declaration.rfind('*') else { return parameter.to_owned() };
    let name = declaration[star + 1..].trim();
    if name.is_empty() || may_be_null(function, name) {
        return parameter.to_owned();
    }
    format!("{}*ZB_NONNULL {name}{rest}", &declaration[..star])
}

fn may_be_null(function: &str, parameter: &str) -> bool {
    if parameter.ends_with("_or_null") {
        return true;
    }
    let is_init = parameter == "options" && function.ends_with("_init");
    !is_init && (NULLABLE.contains(&parameter) || NULLABLE.contains(&format!("{function}.{parameter}").as_str()))
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

#[test]
fn parameters_are_marked() {
    let given = "zb_status zb_x(zb_model *model, const char *path_or_null, zb_model **out, void *user_data);";
    let marked = "zb_status zb_x(zb_model *ZB_NONNULL model, const char *path_or_null, zb_model **ZB_NONNULL out, void *user_data);";
    assert_eq!(tidy(given).trim_end(), marked);
    let given = "ZB_MUST_USE zb_status zb_tensor_wrap(void *data,\n    int *x);";
    assert_eq!(tidy(given).trim_end(), "ZB_MUST_USE zb_status zb_tensor_wrap(void *data,\n    int *ZB_NONNULL x);");
}
