package zerobind.coroutines

import java.nio.Buffer
import java.util.concurrent.CancellationException
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException
import kotlinx.coroutines.suspendCancellableCoroutine
import zerobind.Context
import zerobind.Operation
import zerobind.Queue
import zerobind.Slot
import zerobind.Tensor

/**
 * Runs the context on the queue, and suspends until it is done. The coroutine goes on in its own dispatcher, never on the queue's
 * thread.
 *
 * Cancelling the coroutine asks the run to stop and does not wait for it: what it uses is kept, and stays the run's, until it has
 * ended; [Queue.finish] or [Tensor.sync] wait for that.
 *
 * @throws zerobind.ZerobindException as [Context.infer]
 */
public suspend fun Queue.infer(context: Context, tensors: Map<Slot, Tensor> = emptyMap(), deadlineNanos: Long = 0): Unit =
    inferAsync(context, tensors, deadlineNanos).await()

/** Reads from the tensor on the queue, and suspends until it is done; see [Queue.read]. */
public suspend fun Queue.readNow(tensor: Tensor, destination: Buffer, offset: Long = 0): Unit =
    read(tensor, destination, offset).await()

/** Suspends until the operation is done; cancelling the coroutine cancels the operation. */
public suspend fun Operation.await(): Unit = suspendCancellableCoroutine { continuation ->
    whenComplete { _, failure ->
        when (failure) {
            null -> continuation.resume(Unit)
            is CancellationException -> continuation.cancel(failure)
            else -> continuation.resumeWithException(failure)
        }
    }
    continuation.invokeOnCancellation { cancel(false) }
}
