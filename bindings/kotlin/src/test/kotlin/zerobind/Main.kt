package zerobind

/** Runs all tests, or those whose name has the argument in it; `time` measures calls instead. */
fun main(arguments: Array<String>) {
    if (arguments.firstOrNull() == "time") return time(arguments[1].toInt())
    if (arguments.firstOrNull() == "exit") return exit()
    println("backend ${Zerobind.backend}, Java ${System.getProperty("java.version")}, zerobind ${Zerobind.version}")
    val runner = Runner(arguments.firstOrNull())
    listOf(types, lending, binding, pitch, lifetimes, stress, threads, queues, coroutines).forEach(runner::run)
    runner.finish()
}

/** Ends in the middle of everything: runs on a queue, futures to be completed, objects that are open. */
private fun exit() {
    val context = Model.open(Place.network(Format.ONNX)).context()
    context.resize(X, 1, 43844, 1)
    context.bindNew(X)
    val queue = Queue()
    repeat(8) { queue.inferAsync(context).thenRun { queue.fence() } }
    queue.inferAsync(context, mapOf(X to Tensor.allocate(DType.F32, 1, 43844, 1)))
    println("ends in the middle")
}
