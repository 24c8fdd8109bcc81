package zerobind

/** What one call costs, in ns: the best of many short rounds, as the program in C measures. */
fun time(runs: Int) {
    for (format in Format.entries) {
        withAdd4(format) { context ->
            val (x, y, z) = List(3) { floats(1f, 2f, 3f, 4f) }
            for ((slot, buffer) in listOf(X to x, Y to y, Z to z)) Tensor.wrap(buffer, DType.F32, 4).use { context.bind(slot, it) }
            val loans = context.loans().input(X, x).input(Y, y).output(Z, z)
            val inputs = listOf(x, y)
            val outputs = listOf(z)
            print("${format.ending} ${Zerobind.backend} bound %.1f\n".format(bestOf(runs) { context.infer() }))
            print("${format.ending} ${Zerobind.backend} lent, prepared %.1f\n".format(bestOf(runs) { context.infer(loans) }))
            print("${format.ending} ${Zerobind.backend} lent, by lists %.1f\n".format(bestOf(runs) { context.infer(inputs, outputs) }))
        }
    }
}

private const val ROUNDS = 400

private inline fun bestOf(runs: Int, call: () -> Unit): Double {
    var best = Double.MAX_VALUE
    repeat(ROUNDS) {
        val began = System.nanoTime()
        repeat(runs) { call() }
        best = minOf(best, (System.nanoTime() - began).toDouble() / runs)
    }
    return best
}
