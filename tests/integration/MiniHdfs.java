import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * A cluster of HDFS in a new folder: it tells its namenode's ports, ends a datanode at each line, and ends with its
 * input.
 */
public final class MiniHdfs {
  public static void main(String[] arguments) throws Exception {
    Configuration settings = new Configuration();
    settings.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
    settings.setInt("dfs.namenode.fs-limits.min-block-size", 1024);
    settings.setInt("dfs.blocksize", 1 << 16);
    settings.setInt("dfs.replication", 2);
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(settings).numDataNodes(2).build();
    cluster.waitActive();
    System.out.println(cluster.getNameNodePort() + " " + cluster.getNameNode().getHttpAddress().getPort());
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    while (input.readLine() != null) {
      cluster.stopDataNode(0);
      System.out.println("stopped");
    }
    cluster.shutdown();
  }
}
