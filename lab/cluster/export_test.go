package cluster

// KillMaster kills NGINX's master process, and waits until it was reaped.
func KillMaster(n *Nginx) {
	_ = n.cmd.Process.Kill()
	<-n.done
}
