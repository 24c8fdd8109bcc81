package zerobind

/** Runs all tests, or those whose name has the argument in it; `time` measures calls instead, `exit` ends in the middle of them. */
fun main(arguments: Array<String>) {
    if (arguments.firstOrNull() == "time") return time(arguments[1].toInt())
    if (arguments.firstOrNull() == "exit") return exit(arguments[1], isAtOnce = arguments[2] == "exit")
    println("backend ${Zerobind.backend}, Java ${System.getProperty("java.version")}, zerobind ${Zerobind.version}")
    val runner = Runner(arguments.firstOrNull())
    listOf(types, lending, binding, pitch, lifetimes, stress, threads, queues, coroutines).forEach(runner::run)
    runner.finish()
}
