// For those who build with Gradle. NOT RUN where zerobind is built, which has no way to Gradle's plugins: build.sh is what is
// tested. It compiles the base and the coroutines; the native libraries come from `cargo build --release` of zerobind and of
// zerobind-jni. zerobind-ffm.jar, which needs a Java of 22 or newer, is built by build.sh alone.
plugins {
    kotlin("jvm") version "2.4.20"
    `java-library`
}

group = "zerobind"
version = "0.1.0"

repositories {
    mavenCentral()
}

sourceSets {
    main {
        kotlin.srcDir("src/main/kotlin")
    }
    // optional: nothing in main needs it
    create("coroutines") {
        kotlin.srcDir("src/coroutines/kotlin")
        compileClasspath += main.get().output
        runtimeClasspath += main.get().output
    }
}

dependencies {
    "coroutinesImplementation"("org.jetbrains.kotlinx:kotlinx-coroutines-core:1.11.0")
}

kotlin {
    explicitApi()
    compilerOptions {
        jvmTarget.set(org.jetbrains.kotlin.gradle.dsl.JvmTarget.JVM_11)
    }
}

java {
    sourceCompatibility = JavaVersion.VERSION_11
    targetCompatibility = JavaVersion.VERSION_11
}

tasks.register<Jar>("coroutinesJar") {
    archiveBaseName.set("zerobind-coroutines")
    from(sourceSets["coroutines"].output)
}

// a program that uses it: tasks.withType<JavaExec> { systemProperty("zerobind.library.path", "/folder/of/the/libraries") }
